/** (pure) How fast work goes, and how long it will take. */
export class Pace {
  #first: { done: number; atMs: number } | null = null

  /** Returns the rate since the first call and the time left, as in `1200/s, 2 min left`; '' before they are known. */
  after(done: number, total: number | null, atMs: number): string {
    this.#first ??= { done, atMs }
    const seconds = (atMs - this.#first.atMs) / 1000
    const perSecond = (done - this.#first.done) / seconds
    if (!(seconds >= 1) || !(perSecond > 0)) return ''
    const rate = perSecond >= 10 ? `${Math.round(perSecond)}/s` : `${perSecond.toFixed(1)}/s`
    return total === null ? rate : `${rate}, ${timeText(Math.max(0, total - done) / perSecond)} left`
  }
}

/** Two units at most: `45 s`, `12 min`, `3 h 20 min`. */
function timeText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
