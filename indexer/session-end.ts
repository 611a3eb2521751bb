/** The end of a session: its first reason counts, and aborts everything that the session began. */
export class SessionEnd<Reason> {
  readonly #ending = new AbortController()
  #reason: Reason | undefined
  /** Aborted when the session ends, for a reason of its own or because it is stopped from outside. */
  readonly signal: AbortSignal

  constructor(stopped: AbortSignal) {
    this.signal = AbortSignal.any([stopped, this.#ending.signal])
  }

  /** Undefined where the session was stopped from outside. */
  get reason(): Reason | undefined {
    return this.#reason
  }

  with(reason: Reason): void {
    if (this.signal.aborted) return
    this.#reason = reason
    this.#ending.abort()
  }
}
