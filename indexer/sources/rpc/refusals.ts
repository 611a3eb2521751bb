import { LRUCache } from 'lru-cache'
import { wordsOf } from './said-alone.ts'

/** How long an unexplained error must stay the same before it counts as the answer. */
const STANDS_AFTER_MS = 120_000
/** The same limit for a healthy endpoint, which answers the same call at its head and knows the block. */
export const WELL_STANDS_AFTER_MS = 5_000
/** How long the words of such an answer serve other calls, which need only be refused twice in them. */
const WORDS_STAND_FOR_MS = 600_000
/** Longest gap between two refusals of one series. The wait starts again after a longer one. */
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
 * Records which calls were refused without an answer, by which endpoint and since when. An unexplained error (a
 * time-out, an internal error) may pass and must not become "unknown" in the log. One that stays the same for minutes
 * at every endpoint must not stop its network for ever.
 */
export class Refusals {
  readonly #calls = new LRUCache<string, Map<object, Refusal>>({ max: MAX_CALLS })
  /** Words that stood, by endpoint, with the time until which they serve other calls. */
  readonly #words = new WeakMap<object, LRUCache<string, number>>()

  /** Records that the endpoint refused the call now. Numbers in its words may vary. */
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

  /** Must be called once the call was answered. */
  forget(call: string): void {
    this.#calls.delete(call)
  }

  /**
   * Tells whether every endpoint refused the call in the same words for `afterMs`. Two refusals suffice in words that
   * stood for another call.
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
