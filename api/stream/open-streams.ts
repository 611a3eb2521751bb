import type { StreamProgress } from './follow-feed.ts'

export interface StreamLimits {
  /** Open streams of this process. */
  most: number
  /** Open streams of one client. */
  mostOfClient: number
  /** Milliseconds that a reader may take for a page; each has 400 kB at most, and often a tenth of it. */
  mostBehindMs: number
}

/** A stream takes about 40 KiB. One client can take no more than half of them. */
export const STREAM_LIMITS: StreamLimits = { most: 2000, mostOfClient: 1000, mostBehindMs: 10_000 }

/** Shorter than the time after which the server, and proxies, close a silent connection. */
const HEARTBEAT_MS = 10_000
const LOOK_EVERY_MS = 1000

interface OpenStream {
  client: string
  progress: StreamProgress
  /** Ends the answer: at once and broken off, or after what was written. */
  end: (isBrokenOff: boolean) => void
}

/** Counts the open streams, wakes them for heartbeats, and cuts off readers that are too slow. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>()
  readonly #ofClient = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #looks = 0
  #isEnding = false

  constructor(
    private readonly limits: StreamLimits,
    private readonly wake: () => void,
  ) {}

  /** The limit that one stream more would exceed; null if none. */
  limitFor(client: string): 'all' | 'client' | null {
    if (this.#isEnding || this.#open.size >= this.limits.most) return 'all'
    return (this.#ofClient.get(client) ?? 0) >= this.limits.mostOfClient ? 'client' : null
  }

  add(stream: OpenStream): void {
    this.#open.add(stream)
    this.#ofClient.set(stream.client, (this.#ofClient.get(stream.client) ?? 0) + 1)
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  remove(stream: OpenStream): void {
    if (!this.#open.delete(stream)) return
    const others = (this.#ofClient.get(stream.client) ?? 1) - 1
    if (others > 0) this.#ofClient.set(stream.client, others)
    else this.#ofClient.delete(stream.client)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Ends all streams in order, and takes no others: their clients resume elsewhere. */
  endAll(): void {
    this.#isEnding = true
    for (const stream of this.#open) stream.end(false)
    this.wake()
  }

  #look(): void {
    const lateMs = performance.now() - this.limits.mostBehindMs
    for (const stream of this.#open) {
      const { sentMs } = stream.progress
      if (sentMs !== undefined && sentMs < lateMs) stream.end(true)
    }
    this.#looks += 1
    if (this.#looks % (HEARTBEAT_MS / LOOK_EVERY_MS) === 0) this.wake()
  }
}
