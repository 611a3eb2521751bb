/** For how long an unexplained error must stay the same before it is believed to be the answer. */
const STANDS_AFTER_MS = 120_000
/** Not asked for longer than this: what was said before and what is said now are two stories. */
const MAX_GAP_MS = 300_000
const MAX_CALLS = 10_000

interface Refusal {
  said: string
  sinceMs: number
  lastMs: number
}

/**
 * Which calls were refused without an answer, by whom and since when. An error that nothing explains (a time-out, an
 * internal error) may pass and must not become "unknown" in the log; one that stays the same for minutes at every
 * endpoint would otherwise hold its network up for ever.
 */
export class Refusals {
  readonly #calls = new Map<string, Map<object, Refusal>>()

  /** The endpoint refused the call now; numbers in what it said may differ from time to time. */
  note(call: string, endpoint: object, said: string, nowMs = performance.now()): void {
    const refusals = this.#calls.get(call) ?? new Map<object, Refusal>()
    const words = said.replaceAll(/0x[0-9a-f]+|\d+/gi, '#')
    const before = refusals.get(endpoint)
    const goesOn = before?.said === words && nowMs - before.lastMs <= MAX_GAP_MS
    refusals.set(endpoint, { said: words, sinceMs: goesOn ? before.sinceMs : nowMs, lastMs: nowMs })
    this.#calls.delete(call)
    this.#calls.set(call, refusals)
    const [oldest] = this.#calls.keys()
    if (this.#calls.size > MAX_CALLS && oldest !== undefined) this.#calls.delete(oldest)
  }

  /** The call was answered. */
  forget(call: string): void {
    this.#calls.delete(call)
  }

  /** Whether every one of these endpoints has refused the call in the same words for long. */
  stands(call: string, endpoints: readonly object[]): boolean {
    const refusals = this.#calls.get(call)
    return (
      endpoints.length > 0 &&
      endpoints.every((endpoint) => {
        const refusal = refusals?.get(endpoint)
        return refusal !== undefined && refusal.lastMs - refusal.sinceMs >= STANDS_AFTER_MS
      })
    )
  }
}
