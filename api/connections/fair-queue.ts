interface Waiting {
  sinceMs: number
  enter: (mayRun: boolean) => void
}

/** Interval at which requests that waited too long are refused when no running request ends. */
const LOOK_EVERY_MS = 25
/** Waiting time counted at most between two looks: while the process stands still, no request could have run. */
const MOST_COUNTED_MS = 2 * LOOK_EVERY_MS

/**
 * Bounds how many requests run at once. The rest waits for a short time, and clients take turns: a client that asks for
 * much delays mainly its own requests.
 */
export class FairQueue {
  private running = 0
  private waiting = 0
  /** Map order is turn order: the client at the front is next and moves to the end after its turn. */
  private readonly clients = new Map<string, Waiting[]>()
  private timer: NodeJS.Timeout | undefined
  /** Milliseconds, excluding the time in which the process stood still. */
  private clockMs = 0
  private lookedMs = performance.now()

  constructor(private readonly bounds: { running: number; waiting: number; waitMs: number }) {}

  /**
   * Calls `enter` once: with true when the work may run and must end in {@link leave}, with false when it is refused.
   */
  ask(client: string, enter: (mayRun: boolean) => void): void {
    if (this.running < this.bounds.running) {
      this.running += 1
      enter(true)
    } else if (this.waiting >= this.bounds.waiting) {
      enter(false)
    } else {
      const entry = { sinceMs: this.look(), enter }
      const own = this.clients.get(client)
      if (own === undefined) this.clients.set(client, [entry])
      else own.push(entry)
      this.waiting += 1
      this.timer ??= setInterval(() => this.refuseLate(), LOOK_EVERY_MS)
    }
  }

  /** Reports that a running request has ended. */
  leave(): void {
    this.running -= 1
    this.refuseLate()
    const next = this.take()
    if (next === undefined) return
    this.running += 1
    next.enter(true)
  }

  private look(): number {
    const nowMs = performance.now()
    this.clockMs += Math.min(nowMs - this.lookedMs, MOST_COUNTED_MS)
    this.lookedMs = nowMs
    return this.clockMs
  }

  private take(): Waiting | undefined {
    for (const [client, own] of this.clients) {
      const next = own.shift()
      this.clients.delete(client)
      if (own.length > 0) this.clients.set(client, own)
      if (next !== undefined) return this.forget(next)
    }
    return undefined
  }

  private refuseLate(): void {
    const late = this.look() - this.bounds.waitMs
    for (const [client, own] of this.clients) {
      while (own[0] !== undefined && own[0].sinceMs < late) {
        const [first] = own.splice(0, 1)
        if (first !== undefined) this.forget(first).enter(false)
      }
      if (own.length === 0) this.clients.delete(client)
    }
  }

  private forget(entry: Waiting): Waiting {
    this.waiting -= 1
    if (this.waiting === 0) {
      clearInterval(this.timer)
      this.timer = undefined
    }
    return entry
  }
}
