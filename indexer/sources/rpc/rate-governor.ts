import { pause } from '../../../shared/async/pause.ts'

const SLOWEST_GAP_MS = 500
const FIRST_GAP_MS = 10
/** "Slow down" makes batches no smaller than this, because single calls would only multiply the requests. */
const SMALLEST_SLOW_BATCH = 10
const LONGEST_PAUSE_MS = 60_000
const DEFAULT_PAUSE_MS = 500
const LONGEST_WAITED_MS = 5_000
const SAME_BURST_MS = 200
/** Successes after which one more request may be under way, or batches may grow again. */
const RECOVER_AFTER = 5
/** Factor by which a refused batch shrinks. */
const REFUSED_FACTOR = 2
/**
 * Successes after which batches above the refused size are tried again. The number doubles with each refusal, up to the
 * most.
 */
const FIRST_UNREFUSED_AFTER = 50
const MOST_REFUSALS_COUNTED = 8

export interface GovernorLimits {
  /** Most HTTP requests under way at once. */
  maxConcurrent: number
  /** Most calls in one batch. */
  maxBatch: number
}

/**
 * Limits the load on one endpoint: halved at every "slow down", raised gradually while requests succeed. Requests start
 * in the order in which they were made. Waits use the monotonic clock: a wall clock stepping back by a day would make a
 * pause a day long.
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
  /** Successes until batches above the last refused size are tried again. */
  #untilUnrefused = 0
  /** Size of the smallest batch that got no answers since one as large was answered. */
  #doubted = Infinity
  #slowedAt = -Infinity
  #turn: Promise<void> = Promise.resolve()
  #released: (() => void) | null = null
  readonly #onLearned: (calls: number) => void

  /** `onLearned` receives the largest batch, in calls, that the endpoint seems to take. */
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

  /** Time (ms of the monotonic clock) from which the endpoint may be asked. */
  get pausedUntil(): number {
    return this.#pausedUntil
  }

  /** Tells whether waiting for the endpoint is better than asking another one. */
  get isPauseShort(): boolean {
    return this.#pausedUntil - performance.now() <= LONGEST_WAITED_MS
  }

  /** Waits for a turn; returns false when the signal was aborted. Every other acquire needs one release. */
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

  /** The endpoint asked for fewer requests. Those that were under way together count as one. */
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

  /** A batch failed as a whole, but smaller ones may pass. */
  batchFailed(size: number): void {
    this.#successes = 0
    this.#batch = Math.min(this.#batch, Math.max(1, Math.floor(size / 2)))
  }

  /**
   * The endpoint refused a batch of this size after it took `took` of its calls. Larger batches are tried again less
   * and less often. A gateway's bad moment may be the cause, and small batches leave history unchecked by blooms.
   */
  batchRefused(size: number, took = 0): void {
    // The batch was already under way when a smaller one was refused.
    if (size > this.#batchCap) return
    const cap = took > 0 ? took : Math.floor(size / REFUSED_FACTOR)
    this.#batchCap = Math.min(this.#batchCap, Math.max(1, cap))
    this.#batch = Math.min(this.#batch, this.#batchCap)
    this.#untilUnrefused = FIRST_UNREFUSED_AFTER * 2 ** this.#refusals
    this.#refusals = Math.min(this.#refusals + 1, MOST_REFUSALS_COUNTED)
  }

  /** A batch of this size got no answers, but one of its calls did alone. The second such case blames the size. */
  batchDoubted(size: number): void {
    if (size > this.#doubted) return
    if (this.#doubted === Infinity) this.batchFailed(size)
    else this.batchRefused(size)
    this.#doubted = size
  }

  /** The endpoint answered all calls of a request of this size. */
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
