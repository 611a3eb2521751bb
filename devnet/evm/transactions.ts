import * as z from 'zod'
import type { RpcRefusal } from './rpc.ts'
import { anything, hex, quantity, type Rpc } from './rpc.ts'

/** A call that one of anvil's own (unlocked) accounts makes. */
export interface Transaction {
  from: string
  /** Missing: creates a contract. */
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

/** Enough for the largest batch; what is not used is not paid, and nothing is estimated by running it twice. */
const gas = '0xb71b00'

/** Sends one transaction with the nonce that the node finds right; throws RpcRefusal if it takes it not. */
export function sendOne(rpc: Rpc, transaction: Transaction): Promise<string> {
  return rpc.call(hex, 'eth_sendTransaction', { ...transaction, gas })
}

/**
 * Sends all at once, each sender's in the order given. Answers a hash or the refusal for each. Nobody else may
 * send for these accounts meanwhile: the nonces are counted here.
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

/** The receipts as of now; null where a transaction is pending, unknown or not of this branch any more. */
export function receiptsOf(rpc: Rpc, hashes: string[]): Promise<(Receipt | null)[]> {
  return rpc.all(
    receiptSchema.nullable(),
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
}

export async function mine(rpc: Rpc): Promise<void> {
  await rpc.call(anything, 'evm_mine')
}

/** Blocks are made by `mine` while the work runs, and (where interval mining is on) by the node's own clock. */
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
