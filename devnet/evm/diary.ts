import { appendFileSync } from 'node:fs'
import { contracts } from './artifacts.ts'
import type { Deployment } from './deploy.ts'
import { markets, type Life, type Market } from './loan-life.ts'
import type { Receipt } from './transactions.ts'

/** One event that a transaction of the player emitted. A later reorg does not erase it from the diary. */
export interface DiaryEntry {
  /** The event's name in the contract. */
  kind: string
  market: Market
  loanId: bigint
  transactionHash: string
  blockNumber: number
}

export interface Diary {
  readonly entries: readonly DiaryEntry[]
  /** Records a transaction's events and gives new loans their ids; returns the new entries. */
  record(receipt: Receipt, lives: Life[]): DiaryEntry[]
}

/** Newest entries kept in memory. */
const memory = 500_000

const creations: Record<string, true> = { CreateLoanOffer: true, CreateBorrowRequest: true }

/** Appends every entry to the file, if given, as a line of JSON (the loan id as decimal text). */
export function createDiary(
  deployment: Deployment,
  file: string | undefined,
  onEvent: (entry: DiaryEntry) => void,
): Diary {
  const entries: DiaryEntry[] = []
  return {
    entries,
    record(receipt, lives) {
      const fresh = readLogs(deployment, receipt)
      nameNewLoans(fresh, lives)
      entries.push(...fresh)
      if (entries.length > 2 * memory) entries.splice(0, entries.length - memory)
      if (file !== undefined && fresh.length > 0) appendFileSync(file, fresh.map(toLine).join(''))
      fresh.forEach(onEvent)
      return fresh
    },
  }
}

/** The loan's id is the first parameter of every event of the markets. */
function readLogs(deployment: Deployment, receipt: Receipt): DiaryEntry[] {
  return receipt.logs.flatMap((log) => {
    const market = markets.find((name) => deployment[name].toLowerCase() === log.address.toLowerCase())
    const kind = kindsByTopic.get(log.topics[0] ?? '')
    if (market === undefined || kind === undefined) return []
    const loanId = BigInt(log.data.slice(0, 66))
    return {
      kind,
      market,
      loanId,
      transactionHash: receipt.transactionHash,
      blockNumber: receipt.blockNumber,
    }
  })
}

const kindsByTopic = new Map(
  markets.flatMap((market) => {
    const kinds: [topic: string, kind: string][] = []
    contracts[market].interface.forEachEvent(({ topicHash, name }) => kinds.push([topicHash, name]))
    return kinds
  }),
)

/** A transaction's creations follow the order of its calls. */
function nameNewLoans(entries: DiaryEntry[], lives: Life[]): void {
  for (const market of markets) {
    const unnamed = lives.filter((life) => life.market === market && life.loanId === undefined)
    const created = entries.filter((entry) => entry.market === market && creations[entry.kind])
    unnamed.forEach((life, index) => {
      life.loanId = created[index]?.loanId
    })
  }
}

function toLine(entry: DiaryEntry): string {
  return `${JSON.stringify({ ...entry, loanId: entry.loanId.toString() })}\n`
}
