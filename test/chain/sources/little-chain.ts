import { Interface, type InterfaceAbi } from 'ethers'
import { blake2b } from '@noble/hashes/blake2.js'
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { startAnvil, type AnvilOptions } from '../../../devnet/evm/anvil.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import type { EvmNetwork } from '../../../shared/config/networks.ts'

/** A real node with the devnet's contracts on it, and somebody who lives loans, faster than in life. */

export interface RpcNode {
  url: string
  wsUrl: string
  rpc: (method: string, ...params: unknown[]) => Promise<unknown>
}

export async function startNode(t: Pick<Test, 'teardown'>, options: AnvilOptions = {}): Promise<RpcNode> {
  const anvil = await startAnvil({ historyBlocks: 10_000, ...options })
  t.teardown(() => anvil.stop())
  const { url, wsUrl } = anvil
  return { url, wsUrl, rpc: (method, ...params) => rpc(url, method, params) }
}

let nextId = 1
export async function rpc(url: string, method: string, params: unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: (nextId += 1), method, params }),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

function artifact(name: string): { abi: InterfaceAbi; bytecode: string } {
  const file = new URL(`../../../devnet/contracts/out/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as { abi: InterfaceAbi; bytecode: string }
}

export const ABI = {
  loans: new Interface(artifact('ERC20Loans').abi),
  lock: new Interface(artifact('ERC20CollateralLock').abi),
  token: new Interface(artifact('TestToken').abi),
  batcher: new Interface(artifact('LoanBatcher').abi),
}

export const hex = (text: string): string => `0x${Buffer.from(text, 'utf8').toString('hex')}`
export const hashOf = (secret: string): string =>
  `0x${Buffer.from(blake2b(Buffer.from(secret.slice(2), 'hex'), { dkLen: 32 })).toString('hex')}`
const GAS = '0x1e8480'

export interface LittleChain extends RpcNode {
  loans: string
  lock: string
  tokens: string[]
  accounts: string[]
  /** Sends without waiting for a block. */
  send: (from: string, to: string | null, data: string) => Promise<string>
  /** Mines a block and answers the new contract's address. */
  deploy: (name: string, ...values: unknown[]) => Promise<string>
  mine: (blocks?: number) => Promise<void>
  network: (changes?: Partial<EvmNetwork>) => EvmNetwork
}

export async function startLittleChain(
  t: Pick<Test, 'teardown'>,
  options: AnvilOptions = {},
): Promise<LittleChain> {
  const node = await startNode(t, options)
  const accounts = (await node.rpc('eth_accounts')) as string[]
  const [owner = ''] = accounts
  await node.rpc('evm_setAutomine', false)
  const send = async (from: string, to: string | null, data: string): Promise<string> =>
    (await node.rpc('eth_sendTransaction', {
      from,
      data,
      gas: to === null ? '0x5b8d80' : GAS,
      ...(to === null ? {} : { to }),
    })) as string
  const mine = async (blocks = 1): Promise<void> => {
    await node.rpc('anvil_mine', `0x${blocks.toString(16)}`)
  }
  const deploy = async (name: string, ...values: unknown[]): Promise<string> => {
    const { abi, bytecode } = artifact(name)
    const code = bytecode.startsWith('0x') ? bytecode : `0x${bytecode}`
    const hash = await send(owner, null, code + new Interface(abi).encodeDeploy(values).slice(2))
    await mine()
    const receipt = (await node.rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
    return receipt.contractAddress
  }
  const tokens = [
    await deploy('TestToken', 'SIX', 6),
    await deploy('TestToken', 'EIGHTEEN', 18),
    await deploy('NoDecimalsToken'),
    await deploy('AbsurdDecimalsToken'),
  ]
  const loans = await deploy('ERC20Loans', 3600n)
  const lock = await deploy('ERC20CollateralLock', 10n ** 18n)
  for (const account of accounts) {
    for (const token of tokens) {
      await send(account, token, ABI.token.encodeFunctionData('mint', [account, 10n ** 30n]))
      await send(account, token, ABI.token.encodeFunctionData('approve', [loans, 2n ** 256n - 1n]))
      await send(account, token, ABI.token.encodeFunctionData('approve', [lock, 2n ** 256n - 1n]))
    }
  }
  await mine()
  const network = (changes: Partial<EvmNetwork> = {}): EvmNetwork => ({
    blockchain: 'TEST',
    networkId: '31337',
    rpcUrls: [node.url],
    wsUrl: null,
    confirmations: 0,
    maxBlockRange: 2000,
    pollIntervalMs: 20,
    erc20Loans: { address: loans, startBlock: 0, idPrefix: null },
    erc20CollateralLock: { address: lock, startBlock: 0, idPrefix: null },
    ...changes,
  })
  return { ...node, loans, lock, tokens, accounts, send, deploy, mine, network }
}

interface Life {
  id: bigint
  market: 'loans' | 'lock'
  lender: string
  borrower: string
  a1: string
  b1: string
  state: number
}

/**
 * Sends `count` transactions of loan lives, most of them valid; a fresh loan's number is guessed from the ones
 * that were made, and a wrong guess is a reverted transaction: as on a real chain.
 */
export class Player {
  readonly #chain: LittleChain
  readonly #random: ReturnType<typeof seededRandom>
  readonly #lives: Life[] = []
  readonly #counts = { loans: 0n, lock: 0n }

  constructor(chain: LittleChain, seed: number) {
    this.#chain = chain
    this.#random = seededRandom(seed)
  }

  /** What the contracts say is made, after a reorg took loans away. */
  async resync(): Promise<void> {
    for (const market of ['loans', 'lock'] as const) {
      const data = ABI[market].encodeFunctionData('loanIdCounter', [])
      this.#counts[market] = BigInt(
        (await this.#chain.rpc('eth_call', { to: this.#chain[market], data }, 'latest')) as string,
      )
    }
    this.#lives.length = 0
  }

  async play(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) {
      const life = this.#random.chance(0.35)
        ? undefined
        : this.#lives[this.#random.below(this.#lives.length || 1)]
      if (life === undefined) await this.#begin()
      else await this.#goOn(life)
    }
  }

  async #begin(): Promise<void> {
    const { accounts, tokens, loans, lock } = this.#chain
    const any = (list: string[]): string => list[this.#random.below(list.length)] ?? ''
    const market = this.#random.chance(0.5) ? 'loans' : 'lock'
    const id = (this.#counts[market] += 1n)
    const life: Life = {
      id,
      market,
      lender: any(accounts),
      borrower: any(accounts),
      a1: hex(`a1 ${market} ${String(id)}`),
      b1: hex(`b1 ${market} ${String(id)}`),
      state: 0,
    }
    this.#lives.push(life)
    if (this.#lives.length > 40) this.#lives.shift()
    const token = any(tokens)
    const amount = 1_000_000n + BigInt(this.#random.below(1_000_000))
    const data =
      market === 'loans'
        ? ABI.loans.encodeFunctionData('createLoanOffer', [
            hashOf(life.b1),
            hex(`t1lender${String(id)}`),
            amount,
            amount / 10n,
            token,
            1000n,
          ])
        : ABI.lock.encodeFunctionData('createBorrowRequest', [
            hashOf(life.a1),
            hex(`t1borrower${String(id)}`),
            amount,
            token,
            amount * 2n,
            10n ** 17n,
            1000n,
          ])
    await this.#chain.send(
      market === 'loans' ? life.lender : life.borrower,
      market === 'loans' ? loans : lock,
      data,
    )
  }

  async #goOn(life: Life): Promise<void> {
    const { loans, lock, send } = this.#chain
    const { id, lender, borrower, a1, b1 } = life
    const channel = hex(`t0${String(id)}`).padEnd(66, '0')
    const cancel = life.state === 0 && this.#random.chance(0.2)
    life.state += 1
    if (life.market === 'loans') {
      const call = (from: string, name: string, values: unknown[]): Promise<string> =>
        send(from, loans, ABI.loans.encodeFunctionData(name, values))
      if (cancel) await call(lender, 'cancelLoan', [id, b1])
      else if (life.state === 1)
        await call(lender, 'approveRequest', [id, borrower, hex('t1borrower'), hashOf(a1), channel, 5n])
      else if (life.state === 2) await call(borrower, 'withdraw', [id, a1])
      else if (life.state === 3) await call(borrower, 'payback', [id])
      else await call(lender, 'acceptRepayment', [id, b1])
    } else {
      const call = (from: string, name: string, values: unknown[]): Promise<string> =>
        send(from, lock, ABI.lock.encodeFunctionData(name, values))
      if (cancel) await call(borrower, 'cancelBorrowRequest', [id, a1])
      else if (life.state === 1)
        await call(borrower, 'acceptOffer', [id, lender, hex('t1lender'), hashOf(b1), channel, 7n])
      else if (this.#random.chance(0.5)) await call(borrower, 'unlockCollateral', [id, b1])
      else await call(lender, 'seizeCollateral', [id, a1])
    }
  }
}
