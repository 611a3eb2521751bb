/** Inclusive at both ends. */
export interface BlockRange {
  from: number
  to: number
}

/** Blocks of the first range, read before the number of events per block is known. */
export const FIRST_WIDTH = 8

/** Successful full-width reads after which a width that once failed is tried again. */
const RETRY_FAILED_WIDTH_AFTER = 64

/** Returns the next range of at most `width` blocks within `from` … `to`, or null when nothing is left. */
export function nextRange(from: number, to: number, width: number): BlockRange | null {
  return from > to ? null : { from, to: Math.min(to, from + width - 1) }
}

/**
 * Decides how many blocks to ask for at once. Providers refuse wide ranges with any kind of error: a limit, a quota, a
 * time-out, half an answer. Every failure therefore halves the width, or returns to a width that was read.
 *
 * Success doubles the width up to the configured maximum, or halves the distance to a width that failed lately. Ranges
 * read ahead are held in memory, so dense ranges keep the width near `targetEvents` events.
 */
export class RangeWidth {
  readonly #max: number
  readonly #targetEvents: number
  #width: number
  #isTried = false
  #failedWidth = Number.POSITIVE_INFINITY
  /** The widest range that was read since a range of this width failed. */
  #readWidth = 0
  #successes = 0

  constructor(max: number, options: { first?: number; targetEvents?: number } = {}) {
    this.#max = max
    this.#width = Math.max(1, Math.min(max, options.first ?? max))
    this.#targetEvents = options.targetEvents ?? Number.POSITIVE_INFINITY
  }

  get width(): number {
    return this.#width
  }

  /** True once a range was read; before that, the number of events in a range is unknown. */
  get isTried(): boolean {
    return this.#isTried
  }

  /**
   * Records that a read of `blocks` blocks failed. The width shrinks unless another range's failure already shrank it.
   */
  failed(blocks: number): void {
    this.#successes = 0
    // The width was not the reason when even ranges of one or two blocks fail.
    const isHopeless = blocks <= 2 && this.#readWidth === 0
    this.#failedWidth = isHopeless ? Number.POSITIVE_INFINITY : Math.min(this.#failedWidth, blocks)
    if (blocks <= this.#readWidth) this.#readWidth = 0
    this.#width = Math.min(this.#width, Math.max(1, this.#readWidth, Math.floor(blocks / 2)))
  }

  /** The widest readable range, once it is known to within an eighth; null before. */
  get limit(): number | null {
    const isKnown = this.#failedWidth - this.#readWidth <= Math.max(1, this.#readWidth / 8)
    return isKnown ? this.#readWidth : null
  }

  /** Records that a read of `blocks` blocks returned `events` events. */
  succeeded(blocks: number, events = 0): void {
    this.#isTried = true
    if (events > this.#targetEvents && blocks > 1) {
      this.#width = Math.min(this.#width, Math.max(1, Math.floor((blocks * this.#targetEvents) / events)))
      return
    }
    if (blocks < this.#width) return
    this.#readWidth = Math.max(this.#readWidth, blocks)
    this.#successes += 1
    if (this.#successes >= RETRY_FAILED_WIDTH_AFTER) {
      this.#successes = 0
      this.#failedWidth = Number.POSITIVE_INFINITY
    }
    if (events * 2 <= this.#targetEvents) {
      const between = Math.floor((this.#width + this.#failedWidth) / 2)
      this.#width = Math.max(this.#width, Math.min(this.#max, this.#width * 2, between))
    }
  }
}
