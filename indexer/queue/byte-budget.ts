/** Bytes of steps that a process has read and that are not written: about a third of its heap, once they are parsed. */
const MOST_BYTES = 16 * 1024 * 1024

/**
 * The bytes that all networks of a process may hold together. A network that holds nothing always gets a place: none waits
 * for another one's writer.
 */
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
