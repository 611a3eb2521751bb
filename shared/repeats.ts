export interface RepeatsOptions {
  /** Writes a line: the first of an episode, a count, or the end. */
  write: (line: string, kind: 'first' | 'count' | 'end') => void
  /** The first and the longest pause after a line, in milliseconds. */
  firstMs?: number
  mostMs?: number
}

const FIRST_MS = 5_000
const MOST_MS = 60_000

/**
 * Condenses a line that repeats: the first is written at once, then a count at growing intervals, then one line at the
 * end. An episode that begins again within the interval is counted with it, so a line that comes and goes stays rare.
 */
export class Repeats {
  readonly #write: RepeatsOptions['write']
  readonly #firstMs: number
  readonly #mostMs: number
  #pauseMs: number
  /** Only the end of an episode is written before this time of the monotonic clock. */
  #quietUntilMs = 0
  #timer: NodeJS.Timeout | undefined
  #episode: { sinceMs: number; lastMs: number; notes: number; written: number; last: string } | undefined

  constructor({ write, firstMs = FIRST_MS, mostMs = MOST_MS }: RepeatsOptions) {
    this.#write = write
    this.#firstMs = firstMs
    this.#mostMs = mostMs
    this.#pauseMs = firstMs
  }

  note(message: string): void {
    const now = performance.now()
    // A caller that never calls `over` begins a new episode after a long silence.
    if (this.#episode !== undefined && now - this.#episode.lastMs > this.#mostMs) this.#episode = undefined
    this.#episode ??= { sinceMs: now, lastMs: now, notes: 0, written: 0, last: message }
    this.#episode.notes += 1
    this.#episode.lastMs = now
    this.#episode.last = message
    if (now >= this.#quietUntilMs) this.flush(now)
    else this.#timer ??= setTimeout(() => this.flush(), this.#quietUntilMs - now).unref()
  }

  /** Ends the episode: the operation works again. */
  over(): void {
    const episode = this.#episode
    if (episode === undefined) return
    this.#stopTimer()
    this.#episode = undefined
    // An episode without a written line needs no line about its end.
    if (episode.written === 0) return
    this.#write(`over after ${seconds(performance.now() - episode.sinceMs)}: ${episode.last}`, 'end')
  }

  /** Writes the count of those that were not written yet. */
  flush(now = performance.now()): void {
    this.#stopTimer()
    const episode = this.#episode
    if (episode === undefined || episode.notes === episode.written) return
    if (now - this.#quietUntilMs > this.#mostMs) this.#pauseMs = this.#firstMs
    const isFirst = episode.written === 0 && episode.notes === 1
    const count = `${episode.last} (${episode.notes} times in ${seconds(now - episode.sinceMs)})`
    this.#write(isFirst ? episode.last : count, isFirst ? 'first' : 'count')
    episode.written = episode.notes
    this.#quietUntilMs = now + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, this.#mostMs)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
}
