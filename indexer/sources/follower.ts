import { RetryableError } from '../../shared/errors.ts'
import { ABORTED, unlessAborted } from '../../shared/async/abort.ts'
import type {
  BlockHeader,
  BlockRef,
  ChainStep,
  RangeEvidence,
  TimedBlock,
} from '../../shared/events/chain-step.ts'
import { FIRST_WIDTH, RangeWidth } from './block-ranges.ts'
import { ChainMoved } from './chain-moved.ts'
import type { BlocksRead, ChainSource, ResumePoint } from './chain-source.ts'
import { confirmedRanges } from './confirmed-ranges.ts'
import { cutSteps, type StepBlocks } from './cut-steps.ts'
import { decide, refutes, type OurBranch } from './decide.ts'
import type { FollowOptions } from './follow-options.ts'
import { KnownBranch } from './known-branch.ts'
import { lastShared } from './last-shared.ts'
import { ProvenResults } from './proven-results.ts'
import { readAhead } from './read-ahead.ts'

/** One step takes a reorg to the new head, unless the head is further than this above the last shared block. */
const MAX_REORG_REACH = 1024
/** Ranges get narrower above this many events, because several are held in memory. */
const TARGET_EVENTS_PER_RANGE = 500
/** The most blocks read from the head up to a final block above it, to verify that it continues the head. */
const MOST_LINKED = 64
const LOOK_AT_HEAD_EVERY_MS = 10_000
const LOOK_WITHIN_MS = 4_000

/** The signal ended the reading. */
export class Aborted extends Error {}

/** Blocks that continue `ancestor`, as they were read. */
interface Continuation {
  ancestor: BlockRef | null
  headers: BlockHeader[]
  read: BlocksRead
}

/** Turns the outcomes of {@link decide} into steps. */
export class Follower {
  readonly #source: ChainSource
  readonly #options: FollowOptions
  readonly #branch: KnownBranch
  readonly #maxEvents: number
  readonly #width: RangeWidth
  readonly #tipWidth: RangeWidth
  readonly #results = new ProvenResults()
  #lookedAt = 0

  constructor(source: ChainSource, resume: ResumePoint, options: FollowOptions) {
    this.#source = source
    this.#options = options
    this.#branch = new KnownBranch(resume)
    this.#maxEvents = options.maxEventsPerStep ?? 500
    const width = { first: options.firstWidth ?? FIRST_WIDTH, targetEvents: TARGET_EVENTS_PER_RANGE }
    this.#tipWidth = new RangeWidth(options.maxTipBlocks ?? 64, width)
    this.#width = new RangeWidth(source.maxBlockRange, width)
    if (this.#branch.final !== null) source.believeFinal(this.#branch.final)
  }

  /** Yields steps up to the current head. Throws a RetryableError when the head or finality contradicts our branch. */
  async *catchUp(): AsyncGenerator<ChainStep> {
    for (;;) {
      const { head, finalized } = await this.#look()
      const ours = this.#ours()
      const outcome = decide(ours, { ...head, atPosition: await this.#atPosition(head) }, finalized)
      switch (outcome.is) {
        case 'idle':
        case 'behind':
          yield* this.#tellFinal(finalized)
          return
        case 'backfill':
          yield* this.#backfill(outcome.to)
          break
        case 'tip':
          yield* this.#tellFinal(newest(ours.final, finalized))
          yield* this.#tip(head)
          break
        case 'reorg':
          yield* this.#reorg(head, finalized)
          break
        case 'contradiction':
          throw new RetryableError(outcome.message)
      }
    }
  }

  #ours(): OurBranch {
    const { position, final, told } = this.#branch
    return { position, final, told, next: this.#next(), hashAt: (number) => this.#branch.hashAt(number) }
  }

  async #look(): Promise<{ head: BlockHeader; finalized: BlockRef | null }> {
    const { head, finalized } = await this.#askHead()
    this.#options.onHead?.({ head, finalized })
    this.#lookedAt = performance.now()
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
   * Returns whether a final block above the head continues it. The chain may have grown between the two requests, or
   * more confirmations are configured than finality takes. The two answers may also come from different endpoints, the
   * first of which is on an abandoned branch.
   */
  async #isBelow(head: BlockHeader, finalized: BlockRef): Promise<boolean> {
    if (this.#branch.final?.hash === head.hash) return true
    const to = Math.min(finalized.number, head.number + MOST_LINKED)
    const linked = await this.#ask(this.#source.headers(head.number, to))
    const last = linked.at(-1)
    if (linked[0]?.hash !== head.hash) return false
    return to < finalized.number ? last?.number === to : last?.hash === finalized.hash
  }

  #next(): number {
    return this.#branch.position === null ? this.#source.startBlock : this.#branch.position.number + 1
  }

  /** Returns the hash at our position's height on the branch of a higher head. */
  async #atPosition(head: BlockHeader): Promise<string | null> {
    const { position } = this.#branch
    if (position === null || head.number <= position.number) return null
    if (head.number === position.number + 1) return head.parentHash
    const [theirs] = await this.#ask(this.#source.headers(position.number, position.number))
    if (theirs === undefined) throw new ChainMoved(`block ${position.number} is not there`)
    return theirs.hash
  }

  async *#backfill(finalized: BlockRef): AsyncGenerator<ChainStep> {
    const { signal, isTight, onRange, parallelRanges: parallel = 4 } = this.#options
    const range = { from: this.#next(), to: finalized.number }
    const reading = { source: this.#source, width: this.#width, parallel, signal, onRange }
    const ahead = readAhead(range, isTight === undefined ? reading : { ...reading, isTight })
    const ranges = confirmedRanges(ahead, finalized)
    for (;;) {
      const item = await this.#ask(ranges.next())
      if (item.done === true) break
      const { from, read } = item.value
      const after = this.#after(from, read.first)
      const disproven = this.#results.disproven(read)
      if (disproven !== null) this.#sayDisproven(disproven, 'it is final and not read again')
      const { ofBefore, ...taken } = this.#results.take(read)
      const final = { from, to: read.last, headers: [], ...taken }
      yield* this.#steps(final, read.cuts, { after, ofBefore }, (step) => this.#branch.advanceFinal(step.to))
      await this.#lookAtHead()
    }
    yield* this.#tellFinal(finalized)
  }

  *#steps(
    range: StepBlocks,
    cuts: readonly TimedBlock[],
    { after, ofBefore }: { after: BlockRef | null; ofBefore: RangeEvidence[] },
    advance: (step: StepBlocks) => void,
  ): Generator<ChainStep> {
    let before = after
    let more = ofBefore
    for (const step of cutSteps(range, cuts, this.#maxEvents)) {
      advance(step)
      yield { type: 'blocks', ...step, evidence: [...more, ...step.evidence], after: before }
      before = refOf(step.to)
      more = []
    }
  }

  /** Returns the block before `first`, which must be our position. */
  #after(from: number, first: BlockHeader): BlockRef | null {
    const { position } = this.#branch
    if (first.number !== from) throw new RetryableError(`asked for block ${from}, got block ${first.number}`)
    if (position === null) return from === 0 ? null : { number: from - 1, hash: first.parentHash }
    if (first.parentHash === position.hash) return position
    throw new ChainMoved(`block ${from} does not continue block ${position.number} (${position.hash})`)
  }

  /** Reports the head during a long backfill, so that the lag stays visible. */
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
    const headers = linked(
      await this.#headersTo(from, Math.min(head.number, from + this.#tipWidth.width - 1)),
    )
    const [first, last] = [headers[0], headers.at(-1)]
    if (first === undefined || last === undefined) throw new ChainMoved(`block ${from} is not there`)
    const after = this.#after(from, first)
    const tip = await this.#readTip(after, headers)
    if (tip.ancestor?.number !== after?.number) {
      yield* this.#replace(tip)
      return
    }
    const { ofBefore, ...taken } = this.#results.take(tip.read)
    const range = { from, to: last, headers, ...taken }
    yield* this.#steps(range, headers, { after, ofBefore }, (step) => this.#branch.advance(step.headers))
  }

  async #readTip(after: BlockRef | null, headers: BlockHeader[]): Promise<Continuation> {
    try {
      const tip = await this.#readOnto(after, headers)
      this.#tipWidth.succeeded(headers.length, tip.read.events.length)
      return tip
    } catch (error) {
      this.#tipWidth.failed(headers.length)
      throw error
    }
  }

  /**
   * Reads blocks that continue `ancestor`. If they show that the block before them was read with other results, that block
   * is read again with them, unless it is final.
   */
  async #readOnto(ancestor: BlockRef | null, headers: BlockHeader[]): Promise<Continuation> {
    const read = await this.#readBlocks(headers)
    const disproven = this.#results.disproven(read)
    if (disproven === null || ancestor === null) return { ancestor, headers, read }
    const ours = this.#branch.headers.filter(({ number }) => number <= ancestor.number)
    const again = ours.slice(ours.findIndex(({ hash }) => hash === disproven))
    const [first] = again
    // A header that is its own parent is a null round after the block, which is final then.
    const isOpen = first?.hash === disproven && first.parentHash !== disproven
    this.#sayDisproven(disproven, isOpen ? 'it is read again' : 'it is final and not read again')
    if (!isOpen) return { ancestor, headers, read }
    return this.#readOnto({ number: first.number - 1, hash: first.parentHash }, [...again, ...headers])
  }

  #sayDisproven(hash: string, then: string): void {
    const message = `${this.#source.network}: block ${hash} was read with results that the block after it does not show: ${then}`
    this.#options.onProblem?.(message, new RetryableError(message))
  }

  async #readBlocks(headers: BlockHeader[]): ReturnType<ChainSource['readBlocks']> {
    const beganMs = performance.now()
    const read = await this.#ask(this.#source.readBlocks(headers))
    this.#options.onRange?.(headers.length, performance.now() - beganMs)
    return read
  }

  async *#reorg(head: BlockHeader, finalized: BlockRef | null): AsyncGenerator<ChainStep> {
    const { position } = this.#branch
    if (position === null) return
    const comparable = Math.min(position.number, head.number)
    const headersTo = (from: number, to: number): Promise<BlockHeader[]> => this.#headersTo(from, to)
    const shared = await lastShared(this.#branch, this.#source.startBlock, comparable, headersTo)
    const { ancestor, above } = shared
    // The endpoint's head is a block of our branch: its replica is behind until it grows or differs.
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
    yield* this.#replace(await this.#readOnto(ancestor, headers))
  }

  /** Replaces the blocks after the ancestor with those that were read. */
  *#replace({ ancestor, headers, read }: Continuation): Generator<ChainStep> {
    const { position } = this.#branch
    const to = headers.at(-1)
    if (position === null || ancestor === null || to === undefined) return
    const { ofBefore, events, evidence } = this.#results.take(read)
    this.#branch.replace(ancestor, headers)
    const step = { ancestor, replaces: position, to, headers, events }
    yield { type: 'reorg', ...step, evidence: [...ofBefore, ...evidence] }
  }

  *#tellFinal(finalized: BlockRef | null): Generator<ChainStep> {
    const { told, position } = this.#branch
    if (finalized === null || position === null || finalized.number > position.number) return
    if (told !== null && finalized.number <= told.number) return
    const refuted = refutes(this.#ours(), finalized)
    if (refuted !== null) throw new RetryableError(refuted)
    this.#branch.tellFinal(finalized)
    this.#source.believeFinal(finalized)
    yield { type: 'finalized', block: finalized }
  }

  /** Returns fewer headers when the endpoint has no more. */
  async #headersTo(from: number, to: number): Promise<BlockHeader[]> {
    return from > to ? [] : this.#ask(this.#source.headers(from, to))
  }

  async #ask<T>(promise: Promise<T>): Promise<T> {
    const result = await unlessAborted(promise, this.#options.signal)
    if (result === ABORTED) throw new Aborted('aborted')
    return result
  }
}

/** An interrupted backfill may have read more final blocks than the endpoint reports now. */
function newest(final: BlockRef | null, finalized: BlockRef | null): BlockRef | null {
  return final !== null && final.number > (finalized?.number ?? -1) ? final : finalized
}

/**
 * Throws a ChainMoved when a block is missing or is on another branch. Either two endpoints answered, or the chain
 * moved between two requests.
 */
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
