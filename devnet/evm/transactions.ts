import * as z from 'zod'
import type { RpcRefusal } from './rpc.ts'
import { anything, hex, quantity, type Rpc } from './rpc.ts'

/** A call from one of anvil's own (unlocked) accounts. */
export interface Transaction {
  from: string
  /** Missing: the transaction creates a contract. */
  to?: string
  data: string
}

const receiptSchema = z.object({
  transactionHash: hex,
  status: quantity,
  blockNumber: quantity,
  logs: z.array(z.object({ address: hex, topics: z.array(hex), data: hex })),
})
export type Receipt = z.infer<typeof receiptSchema>

/** Enough for the largest batch. Unused gas is not paid, and no estimate has to run the call twice. */
const gas = '0xb71b00'

/** Sends one transaction with the nonce that the node chooses; throws RpcRefusal if the node refuses it. */
export function sendOne(rpc: Rpc, transaction: Transaction): Promise<string> {
  return rpc.call(hex, 'eth_sendTransaction', { ...transaction, gas })
}

/**
 * Sends all at once, each sender's in the given order. Returns a hash or the refusal for each. No other program may
 * send from these accounts meanwhile, because the nonces are counted here.
 */
export async function sendMany(rpc: Rpc, transactions: Transaction[]): Promise<(string | RpcRefusal)[]> {
  const senders = [...new Set(transactions.map((transaction) => transaction.from))]
  const counts = await rpc.all(
    quantity,
    senders.map((from) => ({ method: 'eth_getTransactionCount', params: [from, 'pending'] })),
  )
  const nonces = new Map(senders.map((from, index) => [from, counts[index] ?? 0]))
  const requests = transactions.map((transaction) => {
    const nonce = nonces.get(transaction.from) ?? 0
    nonces.set(transaction.from, nonce + 1)
    const params = [{ ...transaction, gas, nonce: `0x${nonce.toString(16)}` }]
    return { method: 'eth_sendTransaction', params }
  })
  return rpc.settled(hex, requests)
}

/** Returns the current receipts; null for a transaction that is pending, unknown or no longer in this branch. */
export function receiptsOf(rpc: Rpc, hashes: string[]): Promise<(Receipt | null)[]> {
  return rpc.all(
    receiptSchema.nullable(),
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
}

export async function mine(rpc: Rpc): Promise<void> {
  await rpc.call(anything, 'evm_mine')
}

/** Blocks come from `mine` while the work runs, and from the node's own clock where interval mining is on. */
export async function withManualMining<T>(rpc: Rpc, work: () => Promise<T>): Promise<T> {
  const automine = await rpc.call(z.boolean(), 'anvil_getAutomine')
  if (!automine) return work()
  await rpc.call(anything, 'evm_setAutomine', false)
  try {
    return await work()
  } finally {
    await rpc.call(anything, 'evm_setAutomine', true)
  }
}
