/**
 * Long work that waits for its turn: of all that waits here one goes on in each round of the event loop. What came meanwhile,
 * an answer of the database above all, waits for one of them and not for all that could go on.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []

  /** Resolves when it is the caller's turn, in the order of the calls. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#giveNext()
    })
  }

  #giveNext(): void {
    setImmediate(() => {
      this.#waiting.shift()?.()
      if (this.#waiting.length > 0) this.#giveNext()
    })
  }
}

/** Of all that this process reads: answers that are parsed and checked, EVM logs that are decoded. */
export const READING = new Turns()
