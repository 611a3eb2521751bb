/** Growing delays with jitter, so that the clients of one endpoint do not all return at the same moment. */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  #failures = 0

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs
    this.#maxMs = maxMs
  }

  nextMs(): number {
    const full = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return full / 2 + Math.random() * (full / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}
