import type { Test } from 'tap'
import { contracts } from '../../../devnet/evm/artifacts.ts'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../../devnet/evm/deploy.ts'
import { secretHash } from '../../../devnet/evm/loan-texts.ts'
import * as z from 'zod'
import { anything, createRpc, hex, quantity, type Rpc } from '../../../devnet/evm/rpc.ts'

/** Both markets on a fresh node, called by hand. */
export interface Markets {
  rpc: Rpc
  url: string
  deployment: Deployment
  lender: string
  borrower: string
  stranger: string
  /** Makes a call; throws with the contract's reason if it refuses. Answers the events as `Name` and arguments. */
  send(from: string, market: MarketName, method: string, ...args: unknown[]): Promise<SentEvent[]>
  fetchLoan(market: MarketName, loanId: number, block?: string): Promise<FetchedLoan>
  balance(token: string, holder: string): Promise<bigint>
  passTime(seconds: number): Promise<void>
  time(): Promise<number>
}

export type MarketName = 'erc20Loans' | 'erc20CollateralLock'
export interface SentEvent {
  name: string
  args: unknown[]
}

const texts = z.array(z.string())
const numbers = z.array(z.bigint())
const fetchedLoan = z.object({
  ...{ actors: texts, filAddresses: texts, secretHashes: texts, secrets: texts },
  ...{ expirations: numbers, details: numbers },
  ...{ paymentChannelId: z.string(), token: z.string(), state: z.bigint() },
})
/** What `fetchLoan` answers, by the contract's own names. */
export type FetchedLoan = z.infer<typeof fetchedLoan>

export const a1 = new TextEncoder().encode('a1'.repeat(32))
export const b1 = new TextEncoder().encode('b1'.repeat(32))
export const hashA1 = secretHash(a1)
export const hashB1 = secretHash(b1)

const receiptSchema = z.object({
  status: quantity,
  logs: z.array(z.object({ address: hex, topics: z.array(hex), data: hex })),
})

export async function openMarkets(t: Test): Promise<Markets> {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const rpc = createRpc(anvil.url)
  const deployment = await deployContracts(anvil.url)
  const [, lender = '', borrower = '', stranger = ''] = deployment.accounts
  const time = async (): Promise<number> => {
    const block = z.object({ timestamp: quantity })
    return (await rpc.call(block, 'eth_getBlockByNumber', 'latest', false)).timestamp
  }
  return {
    ...{ rpc, url: anvil.url, deployment, lender, borrower, stranger, time },
    async send(from, market, method, ...args) {
      const contract = contracts[market].interface
      const data = contract.encodeFunctionData(method, args)
      const transaction = { from, to: deployment[market], data, gas: '0x5b8d80' }
      await rpc.call(hex, 'eth_call', transaction, 'latest')
      const hash = await rpc.call(hex, 'eth_sendTransaction', transaction)
      const { status, logs } = await receiptOf(rpc, hash)
      if (status !== 1) throw new Error(`${method} failed`)
      return logs
        .filter(({ address }) => address.toLowerCase() === deployment[market].toLowerCase())
        .map((log) => {
          const event = contract.parseLog(log)
          return { name: event?.name ?? '', args: event?.args.toArray() ?? [] }
        })
    },
    async fetchLoan(market, loanId, block = 'latest') {
      const contract = contracts[market].interface
      const data = contract.encodeFunctionData('fetchLoan', [loanId])
      const answer = await rpc.call(hex, 'eth_call', { to: deployment[market], data }, block)
      return fetchedLoan.parse(contract.decodeFunctionResult('fetchLoan', answer).toObject(true))
    },
    async balance(token, holder) {
      const data = contracts.token.interface.encodeFunctionData('balanceOf', [holder])
      return BigInt(await rpc.call(hex, 'eth_call', { to: token, data }, 'latest'))
    },
    async passTime(seconds) {
      await rpc.call(anything, 'evm_setNextBlockTimestamp', (await time()) + seconds)
      await rpc.call(anything, 'evm_mine')
    },
  }
}

/** Automine makes the block just after it answered the hash. */
async function receiptOf(rpc: Rpc, hash: string): Promise<z.infer<typeof receiptSchema>> {
  for (;;) {
    const receipt = await rpc.call(receiptSchema.nullable(), 'eth_getTransactionReceipt', hash)
    if (receipt !== null) return receipt
  }
}
