import type { RangeCheck, RangeEvidence as Evidence } from '../../../shared/events/chain-step.ts'
import { joinEvidence } from '../../../shared/events/join-evidence.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { hasSaidNull } from './ask-logs.ts'
import { readHeaders } from './block-reader.ts'
import {
  blocksByLogs,
  checkBlooms,
  readLogsBetween,
  readRangeLogs,
  readRangeWithHeaders,
  requireAll,
  sameLogs,
  withHeaders,
  type LogsBetween,
  type RangeLogs,
} from './range-reader.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { SecondOpinion } from '../rpc/second-opinion.ts'
import type { WatchedContracts } from './watched-contracts.ts'

/** Headers are cheap where they come in batches of at least this many … */
const CHEAP_BATCH = 20
/** … and are waited for no longer than this each, as measured on the ranges before, several of them at once. */
const CHEAP_HEADER_MS = 2
/** However busy this process is, a header that takes so much longer is dear: others must not wait for it. */
const LONGEST_PER_WAIT = 10
/** A dear endpoint is measured again every so many ranges. */
const MEASURE_EVERY = 25

/** Blocks that became final lately are checked whatever their headers cost: there is one for each new block. */
const RECENT_BLOCKS = 256

/** A range and how far it can be relied on. */
export interface CheckedRange {
  range: RangeLogs
  check: RangeCheck
  /** Heights of blocks that only their receipts bear out. */
  byReceipts?: readonly number[]
}

/**
 * Checks answers for final blocks: against a second endpoint where one is configured, else against blooms where that is
 * cheap or the blocks are few.
 */
export class RangeEvidence {
  readonly #client: RpcClient
  readonly #contracts: WatchedContracts
  readonly #second: SecondOpinion
  /** By endpoint: ms per header, a moving average. */
  readonly #headerMs = new Map<RpcEndpoint, number>()
  #unchecked = 0
  /** Ranges whose headers are being read: they share what the endpoint and we can do. */
  #reading = 0
  /** The newest block that is known to be final; below all where none is. */
  #newest = -Infinity

  constructor(client: RpcClient, contracts: WatchedContracts, secondPatienceMs?: number) {
    this.#client = client
    this.#contracts = contracts
    this.#second = new SecondOpinion(client, secondPatienceMs)
  }

  /** Blocks up to this one are final. */
  knowFinal(number: number): void {
    this.#newest = Math.max(this.#newest, number)
  }

  /** Reads `from` … `to` from `endpoint` and checks it. Throws a BadAnswer when something was left out. */
  async read(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const isAlone = this.#client.others(endpoint).length === 0
    if (isAlone && this.#isWorthIt(endpoint, from)) return this.#readWithBlooms(endpoint, from, to)
    if (isAlone) {
      const range = await readRangeLogs(endpoint, this.#contracts, from, to)
      return hasSaidNull(endpoint) ? this.#readWithBlooms(endpoint, from, to) : { range, check: 'unchecked' }
    }
    return this.#compare(endpoint, from, to)
  }

  /** All headers at once with the logs: those of blocks with logs are needed anyway. */
  async #readWithBlooms(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const { range, headers } = await readRangeWithHeaders(endpoint, this.#contracts, from, to, this.#headers)
    return checkedBy(endpoint, range, await checkBlooms(endpoint, this.#contracts, range, headers))
  }

  async #compare(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const readOn = async (other: RpcEndpoint): Promise<Answer> => ({
      endpoint: other,
      range: await readLogsBetween(other, this.#contracts, from, to),
    })
    const opinion = await this.#second.on(await readOn(endpoint), {
      readOn,
      // With the headers of its blocks: an answer that contradicts them is no contradiction between two endpoints.
      readAgain: async () => ({
        endpoint,
        range: await readRangeLogs(endpoint, this.#contracts, from, to),
      }),
      isSame: (left, right) => sameLogs(left.range, right.range),
      isWide: from < to,
    })
    const { range } = opinion.answer
    switch (opinion.is) {
      case 'agreed': {
        const blocks = range.blocks ?? blocksByLogs(range, opinion.other.range) ?? undefined
        return { range: await withBlocks(endpoint, { ...range, blocks }), check: 'second-endpoint' }
      }
      case 'alone': {
        const known = await withHeaders(endpoint, range)
        if (!this.#isWorthIt(endpoint, from)) return { range: known, check: 'unchecked' }
        return checkedBy(endpoint, known, await this.#blooms(endpoint, known))
      }
      case 'contradicted':
        return this.#arbitrate(endpoint, await withBlocks(endpoint, range), opinion.other)
    }
  }

  /** Two endpoints contradict each other twice: the blooms show which of them leaves something out. */
  async #arbitrate(endpoint: RpcEndpoint, range: RangeLogs, other: Answer): Promise<CheckedRange> {
    const what = `blocks ${range.from} to ${range.to}: ${endpoint.label} gives ${range.logs.length} logs, ${other.endpoint.label} gives ${other.range.logs.length}`
    const sure = await this.#blooms(endpoint, range)
    const otherFault = await this.#blooms(other.endpoint, other.range).then(
      () => null,
      (error: unknown) => error,
    )
    if (otherFault instanceof BadAnswer) {
      this.#client.distrust(other.endpoint, `${what}; ${otherFault.message}`)
      if (sure !== null) return checkedBy(endpoint, range, sure)
    }
    // Where neither is proven wrong neither is put aside: the one that is left alone would be believed without a check.
    throw new CallFailed(`${what}, and the blooms do not tell which is right`, 'other')
  }

  #isWorthIt(endpoint: RpcEndpoint, from: number): boolean {
    const isRecent = from <= this.#newest && from > this.#newest - RECENT_BLOCKS
    return isRecent || hasSaidNull(endpoint) || this.#isCheap(endpoint)
  }

  #isCheap(endpoint: RpcEndpoint): boolean {
    if (endpoint.governor.batch < CHEAP_BATCH) return false
    if ((this.#headerMs.get(endpoint) ?? 0) <= CHEAP_HEADER_MS) return true
    this.#unchecked += 1
    return this.#unchecked % MEASURE_EVERY === 0
  }

  async #blooms(endpoint: RpcEndpoint, range: LogsBetween): Promise<number[] | null> {
    const headers = await this.#headers(endpoint, range.from, range.to)
    requireAll(headers, range.from, range.to)
    return checkBlooms(endpoint, this.#contracts, range, headers)
  }

  /**
   * As {@link readHeaders}; measures what a header costs while as much is asked for beside it as now: the time in which this
   * process had nothing else to do. While it has, headers cost nothing.
   */
  readonly #headers: typeof readHeaders = async (endpoint, from, to) => {
    const startMs = performance.now()
    const start = performance.eventLoopUtilization()
    this.#reading += 1
    let beside = this.#reading
    try {
      const headers = await readHeaders(endpoint, from, to)
      beside = Math.max(beside, this.#reading)
      return headers
    } finally {
      this.#reading -= 1
      const { idle } = performance.eventLoopUtilization(start)
      const waitedMs = Math.max(idle, (performance.now() - startMs) / LONGEST_PER_WAIT)
      const each = waitedMs / (to - from + 1) / beside
      if (to - from >= CHEAP_BATCH) {
        this.#headerMs.set(endpoint, (this.#headerMs.get(endpoint) ?? each) * 0.7 + each * 0.3)
      }
    }
  }
}

interface Answer {
  endpoint: RpcEndpoint
  /** `blocks` where their headers were read. */
  range: LogsBetween & { blocks?: RangeLogs['blocks'] | undefined }
}

async function withBlocks(endpoint: RpcEndpoint, range: Answer['range']): Promise<RangeLogs> {
  const { blocks } = range
  return blocks === undefined ? withHeaders(endpoint, range) : { ...range, blocks }
}

/** Throws a CallFailed where blooms do not settle a wide range that null may have been said of: narrower ones are settled. */
function checkedBy(endpoint: RpcEndpoint, range: RangeLogs, byReceipts: number[] | null): CheckedRange {
  if (byReceipts !== null) return { range, check: 'bloom', byReceipts }
  if (hasSaidNull(endpoint) && range.from < range.to)
    throw new CallFailed(
      `blocks ${range.from} to ${range.to}: null for logs, and blooms too full to tell`,
      'other',
    )
  return { range, check: 'unchecked' }
}

/** Evidence for blocks `from` to `to`, apart for those that only their receipts bear out. */
export function evidenceOf(
  { from, to, endpoint, check }: Evidence,
  byReceipts: readonly number[] = [],
): Evidence[] {
  const ranges: Evidence[] = []
  let next = from
  for (const number of byReceipts) {
    if (number > next) ranges.push({ from: next, to: number - 1, endpoint, check })
    ranges.push({ from: number, to: number, endpoint, check: 'receipt-list' })
    next = number + 1
  }
  if (next <= to) ranges.push({ from: next, to, endpoint, check })
  return ranges.reduce<Evidence[]>((joined, range) => joinEvidence(joined, [range]), [])
}
