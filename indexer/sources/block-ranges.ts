/** Block ranges here are inclusive at both ends. */
export interface BlockRange {
  from: number
  to: number
}

/** Blocks of the first range, until it is known how many events blocks have. */
export const FIRST_WIDTH = 8

/** Successful full-width reads after which a width that once failed is tried again. */
const RETRY_FAILED_WIDTH_AFTER = 64

/** The next range of at most `width` blocks within `from` … `to`; null when nothing is left. */
export function nextRange(from: number, to: number, width: number): BlockRange | null {
  return from > to ? null : { from, to: Math.min(to, from + width - 1) }
}

/**
 * How many blocks to ask for at once. Providers refuse wide ranges with every kind of error (a limit, a quota, a
 * time-out, half an answer), so ANY failure halves the width or leads
 * back to one that was read. Success doubles it again, up to the configured width, or halves the distance to a width that
 * failed lately. A range with many events holds the width where one range has about `targetEvents`, for what was read
 * ahead is held in memory.
 */
export class RangeWidth {
  readonly #max: number
  readonly #targetEvents: number
  #width: number
  #isTried = false
  #failedWidth = Number.POSITIVE_INFINITY
  /** The widest that was read since a range of this width failed. */
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

  /** Whether any range was read: before, it is not known how many events there are in one. */
  get isTried(): boolean {
    return this.#isTried
  }

  /** A read of `blocks` blocks failed. Narrower now, unless another range's failure already did that. */
  failed(blocks: number): void {
    this.#successes = 0
    // When hardly any block can be read, the width was not the reason.
    const isHopeless = blocks <= 2 && this.#readWidth === 0
    this.#failedWidth = isHopeless ? Number.POSITIVE_INFINITY : Math.min(this.#failedWidth, blocks)
    if (blocks <= this.#readWidth) this.#readWidth = 0
    this.#width = Math.min(this.#width, Math.max(1, this.#readWidth, Math.floor(blocks / 2)))
  }

  /** The widest range that can be read, once it is known to an eighth; else null. */
  get limit(): number | null {
    const isKnown = this.#failedWidth - this.#readWidth <= Math.max(1, this.#readWidth / 8)
    return isKnown ? this.#readWidth : null
  }

  /** A read of `blocks` blocks gave `events` events. */
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
