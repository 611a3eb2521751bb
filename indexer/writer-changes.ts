/** A new writer takes a step that waits in this time. */
const TAKEN_WITHIN_MS = 1_000

/**
 * The writers of one network as its reader sees them. A writer that was killed leaves its step behind: BullMQ gives the job to
 * nobody else while it is locked.
 */
export class WriterChanges {
  #epoch: number
  /** Time at which the last change was seen, and the oldest unwritten step at that time. */
  #change: { atMs: number; oldest: number | undefined } | undefined

  /** `epoch`: of the writer before the reader's first step. */
  constructor(epoch: number) {
    this.#epoch = epoch
  }

  /**
   * Returns whether the step that was the oldest when the writer changed is still unwritten. `oldest`: sequence of the oldest
   * unwritten step now; `nowMs`: milliseconds of the monotonic clock.
   */
  leftAStep(epoch: number, oldest: number | undefined, nowMs: number): boolean {
    if (epoch !== this.#epoch) this.#change = { atMs: nowMs, oldest }
    this.#epoch = epoch
    if (this.#change?.oldest === undefined || this.#change.oldest !== oldest) return false
    return nowMs - this.#change.atMs > TAKEN_WITHIN_MS
  }
}
