import { bytes, encodeAbi, fixedList, word } from './encode-abi.ts'
import type { SyntheticBlock, SyntheticChain } from './synthetic-chain.ts'

/** A block in memory, without its truth, which a node does not know. */
type KeptBlock = Pick<SyntheticBlock, 'number' | 'hash' | 'header'> & { logs: string; whole?: string }

const FETCH_LOAN_CHARS = 2 + 8 + 64
const DECIMALS = '0x313ce567'
/** The answer of `fetchLoan` to an unused number, by the contract's role. */
const NO_LOAN: Record<string, string> = { erc20Loans: noLoan(3), erc20CollateralLock: noLoan(5) }

function noLoan(details: number): string {
  const zeros = (count: number): string => word(0).repeat(count)
  const nothing = fixedList(bytes('0x'), bytes('0x'))
  return encodeAbi([zeros(2), nothing, zeros(2), nothing, zeros(3 + details + 3)])
}

/** One whole branch of a chain, with every answer ready as JSON text. */
export class Branch {
  readonly #chain: SyntheticChain
  readonly #blocks: KeptBlock[] = []
  readonly #byHash = new Map<string, KeptBlock>()
  /** Our contracts' logs, by block. */
  readonly #ours: string[] = []
  readonly #roles: Map<string, string>
  readonly #tokens: Map<string, number>

  constructor(chain: SyntheticChain) {
    this.#chain = chain
    const { contracts, tokens } = chain.parties
    this.#roles = new Map(Object.entries(contracts).map(([role, address]) => [address.toLowerCase(), role]))
    this.#tokens = new Map(tokens.map(({ address, decimals }) => [address.toLowerCase(), decimals]))
    for (const { number, hash, header, logs } of chain.blocks()) {
      const kept = { number, hash, header, logs: logsText(logs) }
      this.#blocks[number] = kept
      this.#byHash.set(hash, kept)
      this.#ours[number] = logsText(logs.filter(({ isOurs }) => isOurs))
    }
  }

  at(number: number): KeptBlock | undefined {
    return this.#blocks[number]
  }

  withHash(hash: string): KeptBlock | undefined {
    return this.#byHash.get(hash)
  }

  /** A block with its transactions, which are made on first request. */
  whole(block: KeptBlock): string {
    return (block.whole ??= wholeText(block))
  }

  hasCode(address: string): boolean {
    return this.#roles.has(address.toLowerCase())
  }

  /** Returns our contracts' logs of blocks `from` … `to`, inclusive, in pieces. */
  ourLogs(from: number, to: number): string[] {
    const texts: string[] = []
    for (let number = Math.max(1, from); number <= to; number += 1) {
      const text = this.#ours[number] ?? ''
      if (text === '') continue
      if (texts.length > 0) texts.push(',')
      texts.push(text)
    }
    return texts
  }

  /** Returns a view function's result at the end of that block. */
  call({ to, data }: { to: string; data: string }, blockHash: string): string | string[] {
    const decimals = this.#tokens.get(to.toLowerCase())
    if (decimals !== undefined && data === DECIMALS) return `"0x${word(decimals)}"`
    const role = this.#roles.get(to.toLowerCase())
    const number = this.#byHash.get(blockHash)?.number
    if (role === undefined || number === undefined || data.length !== FETCH_LOAN_CHARS) return '"0x"'
    const loan = this.#chain.loans.get(`${role}/${BigInt(`0x${data.slice(10)}`)}`)
    const shown = loan?.answers.findLast((answer) => answer.block <= number)
    return ['"0x', shown?.data ?? NO_LOAN[role] ?? '', '"']
  }
}

/** Formats a node's transactions; their senders and data are no part of the synthetic chain. */
function wholeText({ number, hash: blockHash, header }: KeptBlock): string {
  const told = JSON.parse(header) as { transactions: string[] }
  const nobody = `0x${'0'.repeat(40)}`
  const transactions = told.transactions.map((hash, index) => ({
    ...{
      hash,
      blockHash,
      blockNumber: `0x${number.toString(16)}`,
      transactionIndex: `0x${index.toString(16)}`,
    },
    ...{ from: nobody, to: nobody, input: '0x', value: '0x0', nonce: '0x0', gas: '0x5208', gasPrice: '0x1' },
    ...{ type: '0x0', v: '0x1b', r: '0x1', s: '0x1' },
  }))
  return JSON.stringify({ ...told, transactions })
}

function logsText(logs: readonly { text: string }[]): string {
  return logs.map(({ text }) => text).join(',')
}
