/** Bytes of unwritten steps in a process. They take about a third of its heap once parsed. */
const MOST_BYTES = 16 * 1024 * 1024

/** The bytes that all networks of a process may hold together. A network that holds nothing may always take some. */
export class ByteBudget {
  readonly #most: number
  #held = 0

  constructor(most = MOST_BYTES) {
    this.#most = most
  }

  get isFull(): boolean {
    return this.#held >= this.#most
  }

  take(bytes: number): void {
    this.#held += bytes
  }

  leave(bytes: number): void {
    this.#held -= bytes
  }
}
