import { messageOf, RetryableError } from '../../shared/errors.ts'
import type { BlockHeader, BlockRef, ChainStep } from '../../shared/events/chain-step.ts'
import { ABORTED, unlessAborted } from '../../shared/async/abort.ts'
import { pause } from '../../shared/async/pause.ts'
import { FIRST_WIDTH, RangeWidth } from './block-ranges.ts'
import { ChainMoved } from './chain-moved.ts'
import type { ChainSource, ResumePoint } from './chain-source.ts'
import { confirmedRanges } from './confirmed-ranges.ts'
import { cutStretch } from './cut-stretch.ts'
import { forkPoint } from './fork-point.ts'
import { KnownBranch } from './known-branch.ts'
import { readAhead, type PlacedRead } from './read-ahead.ts'
import { Backoff } from './backoff.ts'

export interface FollowOptions {
  /** Ends the steps promptly and without an error. */
  signal: AbortSignal
  /** Ranges read at once in backfill; what is read ahead of a slow consumer. */
  parallelRanges?: number
  /** Whether there is no room for more than was read and is not written yet. */
  isTight?: () => boolean
  /** Blocks of the first range: how many events they have is not known yet. */
  firstWidth?: number
  /** A single block with more events makes a larger step, and so does a reorg. */
  maxEventsPerStep?: number
  /** Blocks read at once at the tip. */
  maxTipBlocks?: number
  /** Told at every look at the chain. */
  onHead?: (info: { head: BlockHeader; finalized: BlockRef | null }) => void
  /** A look at the chain that takes longer is a problem: requests that are never answered fail much later. */
  lookWithinMs?: number
  /** The look at the head has had no answer for `lookWithinMs`; `onHead` is the end of it. */
  onLate?: (message: string) => void
  /** Reading failed and is tried again. */
  onProblem?: (message: string) => void
  /** A retried read succeeded: new blocks, or all that there is. */
  onRead?: () => void
}

/** A reorg reaches the new head in one step, unless that is further beyond the replaced blocks than this. */
const MAX_REORG_REACH = 1024
/** Ranges get narrower above this many events, for several are held in memory. */
const TARGET_EVENTS_PER_RANGE = 500
/** Blocks from the head to a final one above it that are read to see whether that one continues it. */
const MOST_LINKED = 64
const LOOK_AT_HEAD_EVERY_MS = 10_000
const LOOK_WITHIN_MS = 4_000
/** As long as an endpoint is put aside at most: when the node is well again, the index is not long behind. */
const LONGEST_PAUSE_MS = 5_000
const FIRST_PAUSE_MS = 200
/** The chain moving under a read is usual; this often in a row it is a problem. */
const MOVES_WORTH_TELLING = 5

class Aborted extends Error {}

/**
 * The source's blocks as steps, each continuing the one before: first all final blocks, in parallel ranges; then
 * the tip, verified by parent hashes; then whatever the chain does. Retries for ever what can be retried, and
 * throws what cannot (a PermanentError).
 */
export async function* followChain(
  source: ChainSource,
  resume: ResumePoint,
  options: FollowOptions,
): AsyncGenerator<ChainStep> {
  const { signal } = options
  const follower = new Follower(source, resume, options)
  const backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
  const ticking = new AbortController()
  const stop = (): void => ticking.abort()
  signal.addEventListener('abort', stop, { once: true })
  const ticks = source.headTicks(ticking.signal)[Symbol.asyncIterator]()
  let moves = 0
  try {
    while (!signal.aborted) {
      try {
        for await (const step of follower.catchUp()) {
          yield step
          backoff.reset()
          moves = 0
          // Finality alone is no success: the blocks after it may still fail.
          if (step.type !== 'finalized') options.onRead?.()
        }
        backoff.reset()
        moves = 0
        options.onRead?.()
        const tick = await unlessAborted(ticks.next(), signal)
        if (tick === ABORTED || tick.done === true) return
      } catch (error) {
        if (error instanceof Aborted || ticking.signal.aborted) return
        if (!(error instanceof RetryableError)) throw error
        moves = error instanceof ChainMoved ? moves + 1 : MOVES_WORTH_TELLING
        if (moves >= MOVES_WORTH_TELLING) options.onProblem?.(`${source.network}: ${messageOf(error)}`)
        await pause(backoff.nextMs(), signal)
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    // Where the last tick was taken nobody asks for another one: this closes its sockets.
    await ticks.return?.()
  }
}

/**
 * One look at the chain has one of these outcomes:
 * - the head is our position: nothing to do;
 * - the head is a block of ours below the position (a replica that is behind): wait, nothing is rolled back;
 * - final blocks are ahead of our position, which is on the node's branch: backfill;
 * - the head continues our position: the tip;
 * - the head is of another branch: one reorg step, from the last shared block to the head;
 * - the head or the finalized block contradicts what is final: told and retried, nothing is rolled back.
 */
class Follower {
  readonly #source: ChainSource
  readonly #options: FollowOptions
  readonly #branch: KnownBranch
  readonly #maxEvents: number
  readonly #width: RangeWidth
  readonly #tipWidth: RangeWidth
  #lookedAt = 0

  constructor(source: ChainSource, resume: ResumePoint, options: FollowOptions) {
    this.#source = source
    this.#options = options
    this.#branch = new KnownBranch(resume)
    this.#maxEvents = options.maxEventsPerStep ?? 500
    const first = options.firstWidth ?? FIRST_WIDTH
    this.#tipWidth = new RangeWidth(options.maxTipBlocks ?? 64, {
      first,
      targetEvents: TARGET_EVENTS_PER_RANGE,
    })
    this.#width = new RangeWidth(source.maxBlockRange, {
      first,
      targetEvents: TARGET_EVENTS_PER_RANGE,
    })
    if (this.#branch.final !== null) source.believeFinal(this.#branch.final)
  }

  /** Steps up to the head as it is now. */
  async *catchUp(): AsyncGenerator<ChainStep> {
    for (;;) {
      const { head, finalized } = await this.#look()
      const { position } = this.#branch
      if (head.number < this.#next()) {
        // Nothing new by height: the same block, a block of ours, or a shorter branch.
        if (position !== null && this.#contradicts(head)) yield* this.#reorg(head, finalized)
        else {
          yield* this.#tellFinal(finalized)
          return
        }
      } else if (position !== null && !(await this.#isContinuedBy(head))) {
        yield* this.#reorg(head, finalized)
      } else if (finalized !== null && finalized.number >= this.#next()) {
        yield* this.#backfill(finalized)
      } else {
        yield* this.#tellFinal(this.#newestFinal(finalized))
        yield* this.#tip(head)
      }
    }
  }

  async #look(): Promise<{ head: BlockHeader; finalized: BlockRef | null }> {
    const { head, finalized } = await this.#askHead()
    this.#options.onHead?.({ head, finalized })
    this.#lookedAt = performance.now()
    const known = this.#branch.final
    if (known !== null && head.number < known.number) {
      throw new RetryableError(
        `the node's head ${head.number} is below block ${known.number}, which is final`,
      )
    }
    if (finalized === null || finalized.number < this.#source.startBlock) return { head, finalized: null }
    if (finalized.number <= head.number) return { head, finalized }
    return { head, finalized: (await this.#isBelow(head, finalized)) ? refOf(head) : null }
  }

  async #askHead(): Promise<{ head: BlockHeader; finalized: BlockRef | null }> {
    const { lookWithinMs = LOOK_WITHIN_MS, onLate } = this.#options
    const late = setTimeout(
      () => onLate?.(`${this.#source.network}: no node has told its head for ${lookWithinMs / 1000} s`),
      lookWithinMs,
    )
    try {
      const head = await this.#ask(this.#source.head())
      return { head, finalized: await this.#ask(this.#source.finalized()) }
    } finally {
      clearTimeout(late)
    }
  }

  /**
   * Whether a final block above the head continues it: the chain went on between the two questions, or more confirmations
   * are wanted than finality takes. But another node may have answered the second, with the first on a branch that is left.
   */
  async #isBelow(head: BlockHeader, finalized: BlockRef): Promise<boolean> {
    if (this.#branch.final?.hash === head.hash) return true
    const to = Math.min(finalized.number, head.number + MOST_LINKED)
    const linked = await this.#ask(this.#source.headers(head.number, to))
    const last = linked.at(-1)
    if (linked[0]?.hash !== head.hash) return false
    return to < finalized.number ? last?.number === to : last?.hash === finalized.hash
  }

  /** The height after our position. */
  #next(): number {
    return this.#branch.position === null ? this.#source.startBlock : this.#branch.position.number + 1
  }

  /** Whether the head, not above our position, is a block that we do not have. */
  #contradicts(head: BlockHeader): boolean {
    const ours = this.#branch.hashAt(head.number)
    if (ours === null) {
      throw new RetryableError(`the node's head ${head.number} is below the blocks that are remembered`)
    }
    return ours !== head.hash
  }

  /** Whether our position is on the branch of a higher head. */
  async #isContinuedBy(head: BlockHeader): Promise<boolean> {
    const { position } = this.#branch
    if (position === null) return true
    if (head.number === position.number + 1) return head.parentHash === position.hash
    const [theirs] = await this.#ask(this.#source.headers(position.number, position.number))
    if (theirs === undefined) throw new ChainMoved(`block ${position.number} is not there`)
    return theirs.hash === position.hash
  }

  async *#backfill(finalized: BlockRef): AsyncGenerator<ChainStep> {
    const { signal, isTight, parallelRanges: parallel = 4 } = this.#options
    const range = { from: this.#next(), to: finalized.number }
    const reading = { source: this.#source, width: this.#width, parallel, signal }
    const ahead = readAhead(range, isTight === undefined ? reading : { ...reading, isTight })
    const ranges = confirmedRanges(ahead, finalized)
    for (;;) {
      const item = await this.#ask(ranges.next())
      if (item.done === true) break
      yield* this.#writeFinal(item.value)
      await this.#lookAtHead()
    }
    yield* this.#tellFinal(finalized)
  }

  *#writeFinal({ from, read }: PlacedRead): Generator<ChainStep> {
    const after = this.#after(from, read.first)
    const stretch = { from, to: read.last, headers: [], events: read.events, evidence: read.evidence }
    let before = after
    for (const piece of cutStretch(stretch, read.cuts, this.#maxEvents)) {
      this.#branch.advanceFinal(piece.to)
      yield { type: 'blocks', ...piece, after: before }
      before = refOf(piece.to)
    }
  }

  /** The block before `first`, which must be our position. */
  #after(from: number, first: BlockHeader): BlockRef | null {
    const { position } = this.#branch
    if (first.number !== from) throw new RetryableError(`asked for block ${from}, got block ${first.number}`)
    if (position === null) return from === 0 ? null : { number: from - 1, hash: first.parentHash }
    if (first.parentHash === position.hash) return position
    throw new ChainMoved(`block ${from} does not continue block ${position.number} (${position.hash})`)
  }

  /** A backfill takes long, and the lag is told all the while. */
  async #lookAtHead(): Promise<void> {
    if (performance.now() < this.#lookedAt + LOOK_AT_HEAD_EVERY_MS) return
    try {
      const head = await this.#ask(this.#source.head())
      this.#options.onHead?.({ head, finalized: this.#branch.final })
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error
    }
    this.#lookedAt = performance.now()
  }

  async *#tip(head: BlockHeader): AsyncGenerator<ChainStep> {
    const from = this.#next()
    const to = Math.min(head.number, from + this.#tipWidth.width - 1)
    const headers = linked(await this.#headersTo(from, to))
    const first = headers[0]
    const last = headers.at(-1)
    if (first === undefined || last === undefined) throw new ChainMoved(`block ${from} is not there`)
    const after = this.#after(from, first)
    const read = await this.#readTip(headers)
    let before = after
    for (const piece of cutStretch({ from, to: last, headers, ...read }, headers, this.#maxEvents)) {
      this.#branch.advance(piece.headers)
      yield { type: 'blocks', ...piece, after: before }
      before = refOf(piece.to)
    }
  }

  async #readTip(headers: BlockHeader[]): ReturnType<ChainSource['readBlocks']> {
    try {
      const read = await this.#ask(this.#source.readBlocks(headers))
      this.#tipWidth.succeeded(headers.length, read.events.length)
      return read
    } catch (error) {
      this.#tipWidth.failed(headers.length)
      throw error
    }
  }

  async *#reorg(head: BlockHeader, finalized: BlockRef | null): AsyncGenerator<ChainStep> {
    const { position } = this.#branch
    if (position === null) return
    const comparable = Math.min(position.number, head.number)
    const { ancestor, above } = await this.#lastShared(comparable)
    // The node rolled back along our branch. Until it grows or differs, that is a replica that is behind.
    if (ancestor.number >= head.number) throw new ChainMoved(`the head ${head.number} is ours after all`)
    if (finalized !== null && finalized.number <= ancestor.number) yield* this.#tellFinal(finalized)
    const reach = Math.max(position.number, ancestor.number + MAX_REORG_REACH)
    const beyond = await this.#headersTo(comparable + 1, Math.min(head.number, reach))
    const headers = linked([...above, ...beyond], ancestor)
    const to = headers.at(-1)
    if (to === undefined) throw new ChainMoved(`nothing is there after block ${ancestor.number}`)
    if (to.number === head.number ? to.hash !== head.hash : to.number < Math.min(head.number, reach)) {
      throw new ChainMoved(`the branch up to block ${head.number} changed while it was read`)
    }
    const read = await this.#ask(this.#source.readBlocks(headers))
    this.#branch.replace(ancestor, headers)
    yield { type: 'reorg', ancestor, replaces: position, to, headers, ...read }
  }

  /** The last block at or below `upTo` that the node's branch and ours share, and the node's headers above it up to there. */
  async #lastShared(upTo: number): Promise<{ ancestor: BlockRef; above: BlockHeader[] }> {
    const { final, headers } = this.#branch
    const ours = final === null ? headers : [final, ...headers]
    const lowest = ours[0]
    if (lowest === undefined) throw new RetryableError('no block is remembered that could be shared')
    let above: BlockHeader[] = []
    let high = upTo
    for (let width = 32; high >= lowest.number; width *= 2) {
      const low = Math.max(lowest.number, high - width + 1)
      const theirs = await this.#headersTo(low, high)
      const shared = forkPoint(ours, theirs)
      above = [...theirs.filter(({ number }) => shared === null || number > shared.number), ...above]
      if (shared !== null) return { ancestor: shared, above }
      if (low === lowest.number) return { ancestor: this.#belowAll(lowest, theirs[0]), above }
      high = low - 1
    }
    return { ancestor: this.#belowAll(lowest, undefined), above }
  }

  /** Not even the lowest block that is remembered is shared. */
  #belowAll(lowest: BlockRef, theirs: BlockHeader | undefined): BlockRef {
    const { startBlock } = this.#source
    if (
      this.#branch.final === null &&
      lowest.number === startBlock &&
      startBlock > 0 &&
      theirs !== undefined
    ) {
      return { number: startBlock - 1, hash: theirs.parentHash }
    }
    throw new RetryableError(
      `block ${lowest.number} is ${theirs?.hash ?? 'unknown'} there, but ${lowest.hash} ${this.#branch.final === null ? 'is the lowest that is remembered' : 'is final'}: this endpoint is not believed`,
    )
  }

  /** What was read as final is, also where the backfill that read it was cut off and the node tells less now. */
  #newestFinal(finalized: BlockRef | null): BlockRef | null {
    const { final } = this.#branch
    return final !== null && final.number > (finalized?.number ?? -1) ? final : finalized
  }

  *#tellFinal(finalized: BlockRef | null): Generator<ChainStep> {
    const { told, position } = this.#branch
    if (finalized === null || position === null || finalized.number > position.number) return
    if (told !== null && finalized.number <= told.number) return
    const ours = this.#branch.hashAt(finalized.number)
    if (ours !== null && ours !== finalized.hash) {
      throw new RetryableError(
        `block ${finalized.number} is ${ours} on our branch, but the node says that ${finalized.hash} is final`,
      )
    }
    this.#branch.tellFinal(finalized)
    this.#source.believeFinal(finalized)
    yield { type: 'finalized', block: finalized }
  }

  /** Fewer when the node has no more. */
  async #headersTo(from: number, to: number): Promise<BlockHeader[]> {
    return from > to ? [] : this.#ask(this.#source.headers(from, to))
  }

  async #ask<T>(promise: Promise<T>): Promise<T> {
    const result = await unlessAborted(promise, this.#options.signal)
    if (result === ABORTED) throw new Aborted('aborted')
    return result
  }
}

/** Throws where a block is missing or of another branch: the chain moved between two questions, or two nodes answered. */
function linked(headers: BlockHeader[], after?: BlockRef): BlockHeader[] {
  let before = after
  for (const header of headers) {
    if (before !== undefined && (header.number !== before.number + 1 || header.parentHash !== before.hash)) {
      throw new ChainMoved(`block ${header.number} does not continue block ${before.number}`)
    }
    before = header
  }
  return headers
}

function refOf({ number, hash }: BlockRef): BlockRef {
  return { number, hash }
}
