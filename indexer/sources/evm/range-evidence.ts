import type { RangeCheck, RangeEvidence as Evidence } from '../../../shared/events/chain-step.ts'
import { joinEvidence } from '../../../shared/events/join-evidence.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { hasSaidNull } from './ask-logs.ts'
import { readHeaders } from './block-reader.ts'
import {
  blocksByLogs,
  checkBlooms,
  isSameList,
  readLogsBetween,
  readRangeLogs,
  readRangeWithHeaders,
  requireAll,
  sameLogs,
  withHeaders,
  type BlockChecks,
  type CheckedLogs,
  type LogsBetween,
  type RangeLogs,
} from './range-reader.ts'
import type { EvmHeader } from './decode-answer.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { SecondOpinion } from '../rpc/second-opinion.ts'
import type { WatchedContracts } from './watched-contracts.ts'

/** Smallest batch, in headers, at which an endpoint's headers can count as cheap. */
const CHEAP_BATCH = 20
/** Most ms per header that count as cheap: a moving average, divided by the ranges that are read at once. */
const CHEAP_HEADER_MS = 2
/**
 * However busy this process is, at least 1/10 of the elapsed time counts as waiting. A slow header would otherwise
 * delay other ranges unnoticed.
 */
const LONGEST_PER_WAIT = 10
/** An expensive endpoint is measured again once in this many ranges. */
const MEASURE_EVERY = 25

/**
 * Blocks this close to the newest final one are checked whatever their headers cost. The cost is bounded: one header
 * per new block.
 */
const RECENT_BLOCKS = 256

/** A range of logs and the check that backs it. */
export interface CheckedRange {
  range: RangeLogs
  check: RangeCheck
  /** Blocks with a check of their own. */
  blocks?: BlockChecks
}

/**
 * Checks answers for final blocks against a second endpoint, if one is configured. Otherwise it checks blooms where
 * headers are cheap, the blocks are recent or the endpoint has answered null.
 */
export class RangeEvidence {
  readonly #client: RpcClient
  readonly #contracts: WatchedContracts
  readonly #second: SecondOpinion
  /** Milliseconds per header by endpoint, as a moving average. */
  readonly #headerMs = new Map<RpcEndpoint, number>()
  #unchecked = 0
  /** Number of ranges whose headers are being read; they share the endpoint and this process. */
  #reading = 0
  /** Height of the newest block known to be final; -Infinity while none is known. */
  #newest = -Infinity

  constructor(client: RpcClient, contracts: WatchedContracts, secondPatienceMs?: number) {
    this.#client = client
    this.#contracts = contracts
    this.#second = new SecondOpinion(client, secondPatienceMs)
  }

  /** Records that all blocks up to `number` are final. */
  knowFinal(number: number): void {
    this.#newest = Math.max(this.#newest, number)
  }

  /**
   * Reads the logs of blocks `from` to `to` (inclusive) from `endpoint` and checks them. Throws a BadAnswer when logs
   * were left out, and a CallFailed when the check cannot decide.
   */
  async read(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const isAlone = this.#client.others(endpoint).length === 0
    if (isAlone && this.#isWorthIt(endpoint, from)) return this.#readWithBlooms(endpoint, from, to)
    if (isAlone) {
      const range = await readRangeLogs(endpoint, this.#contracts, from, to)
      return hasSaidNull(endpoint) ? this.#readWithBlooms(endpoint, from, to) : { range, check: 'one' }
    }
    return this.#compare(endpoint, from, to)
  }

  /** Headers are read together with the logs, since blocks with logs need theirs anyway. */
  async #readWithBlooms(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const { range, headers } = await readRangeWithHeaders(endpoint, this.#contracts, from, to, this.#headers)
    return checkedBy(endpoint, range, await this.#check(endpoint, range, headers))
  }

  async #compare(endpoint: RpcEndpoint, from: number, to: number): Promise<CheckedRange> {
    const readOn = async (other: RpcEndpoint): Promise<Answer> => ({
      endpoint: other,
      range: await readLogsBetween(other, this.#contracts, from, to),
    })
    const opinion = await this.#second.on(await readOn(endpoint), {
      readOn,
      // Reads headers too: an answer that contradicts its own headers fails here and is no dispute between two
      // endpoints.
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
        return this.#agreed(endpoint, await withBlocks(endpoint, { ...range, blocks }))
      }
      case 'alone': {
        const known = await withHeaders(endpoint, range)
        if (!this.#isWorthIt(endpoint, from)) return { range: known, check: 'one' }
        return checkedBy(endpoint, known, await this.#blooms(endpoint, known))
      }
      case 'contradicted':
        return this.#arbitrate(endpoint, await withBlocks(endpoint, range), opinion.other)
    }
  }

  /** Recent blocks on which two endpoints agree are compared with blooms too, and are `receipts` where these were read. */
  async #agreed(endpoint: RpcEndpoint, range: RangeLogs): Promise<CheckedRange> {
    if (!this.#isRecent(range.from)) return { range, check: 'two' }
    const sure = await this.#blooms(endpoint, range).catch((error: unknown) => {
      if (error instanceof CallFailed) return null
      throw error
    })
    if (sure === null) return { range, check: 'two' }
    const blocks = new Map([...sure.checks].filter(([, check]) => check === 'receipts'))
    return { range: { ...range, logs: sure.logs }, check: 'two', blocks }
  }

  /** Two endpoints contradicted each other twice. The blooms show which one omits logs. */
  async #arbitrate(endpoint: RpcEndpoint, range: RangeLogs, other: Answer): Promise<CheckedRange> {
    const what = `blocks ${range.from} to ${range.to}: ${endpoint.label} gives ${range.logs.length} logs, ${other.endpoint.label} gives ${other.range.logs.length}`
    const sure = await this.#blooms(endpoint, range)
    const otherSure = await this.#blooms(other.endpoint, other.range).catch((error: unknown) =>
      error instanceof BadAnswer ? error : null,
    )
    if (otherSure instanceof BadAnswer) this.#client.distrust(other.endpoint, `${what}; ${otherSure.message}`)
    // One of them may only number logs otherwise than the block's receipts do.
    const isSettled =
      otherSure instanceof BadAnswer || (otherSure && sure && isSameList(otherSure.logs, sure.logs))
    if (isSettled === true && sure !== null) return checkedBy(endpoint, range, sure)
    // If neither is proven wrong, neither is put aside. The remaining one would otherwise be believed without a check.
    throw new CallFailed(`${what}, and the blooms do not tell which is right`, 'other')
  }

  #isWorthIt(endpoint: RpcEndpoint, from: number): boolean {
    return this.#isRecent(from) || hasSaidNull(endpoint) || this.#isCheap(endpoint)
  }

  #isRecent(from: number): boolean {
    return from <= this.#newest && from > this.#newest - RECENT_BLOCKS
  }

  #isCheap(endpoint: RpcEndpoint): boolean {
    if (endpoint.governor.batch < CHEAP_BATCH) return false
    if ((this.#headerMs.get(endpoint) ?? 0) <= CHEAP_HEADER_MS) return true
    this.#unchecked += 1
    return this.#unchecked % MEASURE_EVERY === 0
  }

  async #blooms(endpoint: RpcEndpoint, range: LogsBetween): Promise<CheckedLogs | null> {
    const headers = await this.#headers(endpoint, range.from, range.to)
    requireAll(headers, range.from, range.to)
    return this.#check(endpoint, range, headers)
  }

  /** Blooms of headers that do not hash are compared too, but prove nothing. */
  async #check(endpoint: RpcEndpoint, range: LogsBetween, headers: EvmHeader[]): Promise<CheckedLogs | null> {
    const checked = await checkBlooms(endpoint, this.#contracts, range, headers, this.#isRecent(range.from))
    if (checked === null) return null
    const { checks, logs } = checked
    const unproven = headers.filter(({ number, roots }) => roots === null && !checks.has(number))
    return { logs, checks: new Map([...checks, ...unproven.map(({ number }) => [number, 'one'] as const)]) }
  }

  /**
   * Reads like {@link readHeaders} and measures the cost of a header, divided by the ranges read at once. Only the
   * event loop's idle time counts: headers cost nothing while this process has other work.
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
  /** `blocks` is set when the headers were read. */
  range: LogsBetween & { blocks?: RangeLogs['blocks'] | undefined }
}

async function withBlocks(endpoint: RpcEndpoint, range: Answer['range']): Promise<RangeLogs> {
  const { blocks } = range
  return blocks === undefined ? withHeaders(endpoint, range) : { ...range, blocks }
}

/**
 * Throws a CallFailed when full blooms cannot confirm a wide range of an endpoint that has answered null. Narrower
 * ranges then settle it.
 */
function checkedBy(endpoint: RpcEndpoint, range: RangeLogs, checked: CheckedLogs | null): CheckedRange {
  if (checked !== null)
    return { range: { ...range, logs: checked.logs }, check: 'bloom', blocks: checked.checks }
  if (hasSaidNull(endpoint) && range.from < range.to)
    throw new CallFailed(
      `blocks ${range.from} to ${range.to}: null for logs, and blooms too full to tell`,
      'other',
    )
  return { range, check: 'one' }
}

/** Splits the evidence of blocks `from` to `to` (inclusive), so that each height in `blocks` gets its own check. */
export function evidenceOf(
  { from, to, endpoint, check }: Evidence,
  blocks: BlockChecks = new Map(),
): Evidence[] {
  const ranges: Evidence[] = []
  let next = from
  for (const [number, own] of [...blocks].sort(([left], [right]) => left - right)) {
    if (number > next) ranges.push({ from: next, to: number - 1, endpoint, check })
    ranges.push({ from: number, to: number, endpoint, check: own })
    next = number + 1
  }
  if (next <= to) ranges.push({ from: next, to, endpoint, check })
  return ranges.reduce<Evidence[]>((joined, range) => joinEvidence(joined, [range]), [])
}
