import { LRUCache } from 'lru-cache'
import { wordsOf } from './said-alone.ts'

/** For how long an unexplained error must stay the same before it is believed to be the answer. */
const STANDS_AFTER_MS = 120_000
/** The same where the endpoint is known to be well: it answers the same question of its head, and knows the block. */
export const WELL_STANDS_AFTER_MS = 5_000
/** For so long after that, other calls that are refused twice in the same words need not wait. */
const WORDS_STAND_FOR_MS = 600_000
/** Not asked for longer than this: what was said before and what is said now are two stories. */
const MAX_GAP_MS = 300_000
const MAX_CALLS = 10_000
const MAX_WORDS = 100

interface Refusal {
  said: string
  sinceMs: number
  lastMs: number
  times: number
}

/**
 * Which calls were refused without an answer, by whom and since when. An error that nothing explains (a time-out, an
 * internal error) may pass and must not become "unknown" in the log; one that stays the same for minutes at every
 * endpoint would otherwise hold its network up for ever.
 */
export class Refusals {
  readonly #calls = new LRUCache<string, Map<object, Refusal>>({ max: MAX_CALLS })
  /** Keyed by endpoint: words that stood, and until when they stand for other calls. */
  readonly #words = new WeakMap<object, LRUCache<string, number>>()

  /** The endpoint refused the call now; numbers in what it said may differ from time to time. */
  note(call: string, endpoint: object, said: string, nowMs = performance.now()): void {
    const refusals = this.#calls.get(call) ?? new Map<object, Refusal>()
    const words = wordsOf(said)
    const before = refusals.get(endpoint)
    const goesOn = before?.said === words && nowMs - before.lastMs <= MAX_GAP_MS
    refusals.set(endpoint, {
      said: words,
      sinceMs: goesOn ? before.sinceMs : nowMs,
      lastMs: nowMs,
      times: goesOn ? before.times + 1 : 1,
    })
    this.#calls.set(call, refusals)
  }

  /** The call was answered. */
  forget(call: string): void {
    this.#calls.delete(call)
  }

  /**
   * Whether every one of these endpoints has refused the call in the same words for so long, or twice in words that stood
   * for another call.
   */
  stands(call: string, endpoints: readonly object[], afterMs = STANDS_AFTER_MS): boolean {
    const refusals = this.#calls.get(call)
    const found = endpoints.map((endpoint) => ({ endpoint, refusal: refusals?.get(endpoint) }))
    const doStand = found.every(({ endpoint, refusal }) => {
      if (refusal === undefined) return false
      const { said, sinceMs, lastMs, times } = refusal
      const untilMs = this.#words.get(endpoint)?.get(said) ?? -Infinity
      return lastMs - sinceMs >= afterMs || (times > 1 && lastMs < untilMs)
    })
    if (endpoints.length === 0 || !doStand) return false
    for (const { endpoint, refusal } of found)
      if (refusal !== undefined) this.#keep(endpoint, refusal, afterMs)
    return true
  }

  #keep(endpoint: object, { said, sinceMs, lastMs }: Refusal, afterMs: number): void {
    if (lastMs - sinceMs < afterMs) return
    const words = this.#words.get(endpoint) ?? new LRUCache<string, number>({ max: MAX_WORDS })
    this.#words.set(endpoint, words.set(said, lastMs + WORDS_STAND_FOR_MS))
  }
}
