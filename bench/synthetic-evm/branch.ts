import { bytes, encodeAbi, fixedList, word } from './encode-abi.ts'
import { receiptsOf, transactionJson } from './node-texts.ts'
import type { SyntheticBlock, SyntheticChain } from './synthetic-chain.ts'

/** A block in memory, without its truth, which a node does not know. */
type KeptBlock = Pick<SyntheticBlock, 'number' | 'hash' | 'header'> & {
  logs: string
  /** Inputs of its transactions. */
  inputs: string[]
  whole?: string
  receipts?: string
}

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
    for (const { number, hash, header, transactions, logs } of chain.blocks()) {
      const inputs = transactions.map(({ input }) => input)
      const kept = { number, hash, header, inputs, logs: logsText(logs) }
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

  /** A block's receipts, which are made on first request. */
  receipts(block: KeptBlock): string {
    return (block.receipts ??= receiptsText(block))
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

function wholeText({ number, hash: blockHash, header, inputs }: KeptBlock): string {
  const told = JSON.parse(header) as { transactions: string[] }
  const blockNumber = `0x${number.toString(16)}`
  const transactions = told.transactions.map((hash, index) => ({
    ...{ blockHash, blockNumber, transactionIndex: `0x${index.toString(16)}` },
    ...transactionJson({ hash, input: inputs[index] ?? '' }),
  }))
  return JSON.stringify({ ...told, transactions })
}

function receiptsText({ number, hash: blockHash, header, logs }: KeptBlock): string {
  const { transactions } = JSON.parse(header) as { transactions: string[] }
  const blockNumber = `0x${number.toString(16)}`
  const receipts = receiptsOf(
    transactions.length,
    JSON.parse(`[${logs}]`) as Parameters<typeof receiptsOf>[1],
  )
  return JSON.stringify(
    receipts.map((receipt, index) => ({
      ...receipt,
      blockHash,
      blockNumber,
      transactionHash: transactions[index],
    })),
  )
}

function logsText(logs: readonly { text: string }[]): string {
  return logs.map(({ text }) => text).join(',')
}
