interface Gap {
  from: bigint
  to: bigint
}

/**
 * (pure) Numbers of one contract's loans that the log has. The contract counts loans from 1. Only gaps are kept, so
 * memory does not grow with the loans.
 */
export class LoanNumbers {
  #gaps: Gap[] = []
  #first: bigint | null = null
  #last = 0n

  note(number: bigint): void {
    if (this.#first === null) this.#first = this.#last = number
    else if (number > this.#last) {
      this.#addGap(this.#last + 1n, number - 1n)
      this.#last = number
    } else if (number < this.#first) {
      this.#addGap(number + 1n, this.#first - 1n)
      this.#first = number
    } else this.#fill(number)
  }

  /**
   * Returns the numbers that the log lacks of the first `count`, at most `most`. The first `older` were made before the
   * log begins; null if nobody knows, and then none before the first known loan counts as missing.
   */
  missing(count: bigint, older: bigint | null, most: number): bigint[] {
    const first = this.#first ?? count + 1n
    const begin = older === null ? first : older + 1n
    const after = this.#first === null ? [] : [...this.#gaps, { from: this.#last + 1n, to: count }]
    const gaps = [{ from: begin, to: first - 1n }, ...after]
    const found: bigint[] = []
    for (const { from, to } of gaps) {
      const last = to < count ? to : count
      for (let number = from < begin ? begin : from; number <= last && found.length < most; number += 1n)
        found.push(number)
    }
    return found
  }

  /** Loans up to this number may be older than the log, where `older` of them are known to be. */
  olderThanLog(count: bigint, older: bigint | null): bigint {
    return older ?? (this.#first ?? count + 1n) - 1n
  }

  #addGap(from: bigint, to: bigint): void {
    if (from <= to) this.#gaps.push({ from, to })
  }

  #fill(number: bigint): void {
    const at = this.#gaps.findIndex(({ from, to }) => from <= number && number <= to)
    const [gap] = at === -1 ? [] : this.#gaps.splice(at, 1)
    if (gap === undefined) return
    this.#addGap(gap.from, number - 1n)
    this.#addGap(number + 1n, gap.to)
  }
}
