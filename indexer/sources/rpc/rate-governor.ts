import { pause } from '../../../shared/async/pause.ts'

const SLOWEST_GAP_MS = 500
const FIRST_GAP_MS = 10
/** "Slow down" makes batches no smaller than this: with single calls the requests would only become more. */
const SMALLEST_SLOW_BATCH = 10
const LONGEST_PAUSE_MS = 60_000
const DEFAULT_PAUSE_MS = 500
const LONGEST_WAITED_MS = 5_000
const SAME_BURST_MS = 200
/** Successes after which one more request may be under way, or a batch may be larger again. */
const RECOVER_AFTER = 5
/** A batch that was refused is this many times smaller the next time. */
const REFUSED_FACTOR = 2
/** Successes after which larger batches than were refused are tried again: twice as many after each refusal, up to the most. */
const FIRST_UNREFUSED_AFTER = 50
const MOST_REFUSALS_COUNTED = 8

export interface GovernorLimits {
  /** HTTP requests under way at once. */
  maxConcurrent: number
  /** Calls in one batch. */
  maxBatch: number
}

/**
 * How hard one endpoint may be pressed: halved at every "slow down", raised step by step while all goes well.
 * Requests start in the order in which they were asked for. Waits are measured by the monotonic clock: the wall
 * clock may step, and a step back of a day must not make a pause a day long.
 */
export class RateGovernor {
  readonly #limits: GovernorLimits
  #concurrent: number
  #batch: number
  #batchCap: number
  #gapMs = 0
  #active = 0
  #pausedUntil = 0
  #nextStart = 0
  #successes = 0
  #refusals = 0
  /** Successes until larger batches are tried again than the last that was refused. */
  #untilUnrefused = 0
  /** The smallest batch that got no answers since one as large was answered. */
  #doubted = Infinity
  #slowedAt = -Infinity
  #turn: Promise<void> = Promise.resolve()
  #released: (() => void) | null = null
  readonly #onLearned: (calls: number) => void

  /** `onLearned` hears of a batch of as many calls as the endpoint seems to take. */
  constructor(limits: GovernorLimits, onLearned: (calls: number) => void = () => undefined) {
    this.#limits = limits
    this.#onLearned = onLearned
    this.#concurrent = limits.maxConcurrent
    this.#batch = limits.maxBatch
    this.#batchCap = limits.maxBatch
  }

  get batch(): number {
    return this.#batch
  }

  get active(): number {
    return this.#active
  }

  /** When the endpoint may be asked again (ms of the monotonic clock); in the past when it may be asked now. */
  get pausedUntil(): number {
    return this.#pausedUntil
  }

  /** Whether the endpoint is worth waiting for, rather than asking another one. */
  get isPauseShort(): boolean {
    return this.#pausedUntil - performance.now() <= LONGEST_WAITED_MS
  }

  /** Waits for a turn. Every acquire that was not aborted needs one release. False: the signal was aborted. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const before = this.#turn
    let mine: () => void = () => undefined
    this.#turn = new Promise((resolve) => (mine = resolve))
    try {
      await before
      return await this.#start(signal)
    } finally {
      mine()
    }
  }

  async #start(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      if (signal.aborted) return false
      const waitMs = Math.max(this.#pausedUntil, this.#nextStart) - performance.now()
      if (waitMs > 0) await pause(waitMs, signal)
      else if (this.#active >= this.#concurrent) await this.#oneReleased()
      else break
    }
    this.#active += 1
    this.#nextStart = performance.now() + this.#gapMs
    return true
  }

  #oneReleased(): Promise<void> {
    return new Promise((resolve) => (this.#released = resolve))
  }

  release(): void {
    this.#active -= 1
    this.#released?.()
    this.#released = null
  }

  /** The endpoint said that we ask too much. Requests that were under way together count as one such word. */
  slowDown(retryAfterMs: number | null): void {
    const now = performance.now()
    const waitMs = Math.min(LONGEST_PAUSE_MS, retryAfterMs ?? DEFAULT_PAUSE_MS)
    this.#pausedUntil = Math.max(this.#pausedUntil, now + waitMs)
    this.#successes = 0
    if (now < this.#slowedAt + SAME_BURST_MS) return
    this.#slowedAt = now
    this.#concurrent = Math.max(1, Math.floor(this.#concurrent / 2))
    this.#batch = Math.min(this.#batch, Math.max(SMALLEST_SLOW_BATCH, Math.floor(this.#batch / 2)))
    this.#gapMs = Math.min(SLOWEST_GAP_MS, Math.max(FIRST_GAP_MS, this.#gapMs * 2))
  }

  /** A batch failed as a whole: smaller ones may pass. */
  batchFailed(size: number): void {
    this.#successes = 0
    this.#batch = Math.min(this.#batch, Math.max(1, Math.floor(size / 2)))
  }

  /**
   * The endpoint refuses a batch of this size, and took `took` calls of it. Larger ones are tried again less and less often:
   * it may have been a gateway's bad moment, and with batches of a few no history is checked by its blooms.
   */
  batchRefused(size: number, took = 0): void {
    // It was under way when another one was refused.
    if (size > this.#batchCap) return
    const cap = took > 0 ? took : Math.floor(size / REFUSED_FACTOR)
    this.#batchCap = Math.min(this.#batchCap, Math.max(1, cap))
    this.#batch = Math.min(this.#batch, this.#batchCap)
    this.#untilUnrefused = FIRST_UNREFUSED_AFTER * 2 ** this.#refusals
    this.#refusals = Math.min(this.#refusals + 1, MOST_REFUSALS_COUNTED)
  }

  /** A batch of this size got no answers, but one of its calls did alone: by the second such word the size is why. */
  batchDoubted(size: number): void {
    if (size > this.#doubted) return
    if (this.#doubted === Infinity) this.batchFailed(size)
    else this.batchRefused(size)
    this.#doubted = size
  }

  /** The endpoint answered a request with so many calls in whole. */
  batchTaken(size: number): void {
    if (size >= this.#doubted) this.#doubted = Infinity
    if (size === this.#batchCap && size < this.#limits.maxBatch) this.#onLearned(size)
  }

  succeeded(): void {
    this.#raiseCap()
    this.#successes += 1
    if (this.#successes < RECOVER_AFTER) return
    this.#successes = 0
    this.#concurrent = Math.min(this.#limits.maxConcurrent, this.#concurrent + 1)
    this.#batch = Math.min(this.#batchCap, this.#batch * 2)
    this.#gapMs = this.#gapMs < 2 ? 0 : this.#gapMs * 0.6
  }

  #raiseCap(): void {
    if (this.#batchCap === this.#limits.maxBatch) return
    this.#untilUnrefused -= 1
    if (this.#untilUnrefused > 0) return
    this.#batchCap = Math.min(this.#limits.maxBatch, this.#batchCap * REFUSED_FACTOR)
    this.#untilUnrefused = FIRST_UNREFUSED_AFTER
  }
}
