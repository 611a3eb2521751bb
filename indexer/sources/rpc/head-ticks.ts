import WebSocket from 'ws'
import { endpointLabel } from '../../../shared/log.ts'
import { Backoff, Wakeup } from '../waiting.ts'
import type { Report } from './rpc-client.ts'

/** A WebSocket on which a node tells new heads once it was asked to. */
export interface HeadSubscription {
  url: string
  headers?: Record<string, string>
  request: { method: string; params: unknown[] }
  /** The method by which the node says that it tells no more, where there is one. */
  endsWith?: string
}

export interface TickOptions {
  /** None: polling only. */
  subscriptions: HeadSubscription[]
  pollIntervalMs: number
  report: Report
}

/** While the node tells new heads itself, polling is only a safety net: this many times slower. */
const SAFETY_NET_FACTOR = 10
const PING_EVERY_MS = 20_000

/**
 * Yields whenever there may be a new head. Ticks that come while the consumer is busy count as one. Ends when the
 * signal is aborted.
 */
export async function* headTicks(options: TickOptions, signal: AbortSignal): AsyncGenerator<void> {
  const heads = new Wakeup()
  const sockets = options.subscriptions.map((asked) => new Subscription(asked, heads, options.report))
  try {
    for (;;) {
      const told = sockets.some(({ connected }) => connected)
      await heads.wait(told ? options.pollIntervalMs * SAFETY_NET_FACTOR : options.pollIntervalMs, signal)
      if (signal.aborted) return
      yield
    }
  } finally {
    for (const socket of sockets) socket.close()
  }
}

/** One subscription, connected again whenever it breaks. */
class Subscription {
  readonly #asked: HeadSubscription
  readonly #heads: Wakeup
  readonly #report: Report
  readonly #backoff = new Backoff(500, 30_000)
  #socket: WebSocket | null = null
  #retry: NodeJS.Timeout | null = null
  #ping: NodeJS.Timeout | null = null
  #alive = false
  #closed = false
  connected = false

  constructor(asked: HeadSubscription, heads: Wakeup, report: Report) {
    this.#asked = asked
    this.#heads = heads
    this.#report = report
    this.#connect()
  }

  close(): void {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#drop()
  }

  #connect(): void {
    const { url, headers = {}, request } = this.#asked
    const socket = new WebSocket(url, { handshakeTimeout: 10_000, maxPayload: 16 * 1024 * 1024, headers })
    this.#socket = socket
    socket.on('open', () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }))
      this.#alive = true
      this.#ping = setInterval(() => this.#checkAlive(socket), PING_EVERY_MS)
    })
    socket.on('pong', () => (this.#alive = true))
    socket.on('message', (data: WebSocket.RawData) => this.#onMessage(data))
    socket.on('error', () => socket.terminate())
    socket.on('close', () => this.#onClose(socket))
  }

  /** Whatever comes may mean a new head; the subscription's own answer says that from now on heads are told. */
  #onMessage(data: WebSocket.RawData): void {
    this.#alive = true
    const said = Buffer.isBuffer(data) ? whatWasSaid(data.toString('utf8'), this.#asked.endsWith) : null
    if (said === 'refused') {
      const { url, request } = this.#asked
      this.#report('warn', `${endpointLabel(url)} refuses ${request.method}: polling instead`)
      this.#closed = true
      this.#drop()
    }
    if (said === 'ended') this.#socket?.terminate()
    if (said === 'subscribed') {
      this.connected = true
      this.#backoff.reset()
    }
    this.#heads.raise()
  }

  #checkAlive(socket: WebSocket): void {
    if (!this.#alive) {
      socket.terminate()
      return
    }
    this.#alive = false
    socket.ping()
  }

  #onClose(socket: WebSocket): void {
    if (this.#socket !== socket) return
    const wasConnected = this.connected
    this.#drop()
    if (this.#closed) return
    if (wasConnected)
      this.#report(
        'warn',
        `${endpointLabel(this.#asked.url)} closed the subscription: polling until it is back`,
      )
    this.#retry = setTimeout(() => this.#connect(), this.#backoff.nextMs())
    this.#heads.raise()
  }

  #drop(): void {
    if (this.#ping !== null) clearInterval(this.#ping)
    this.#ping = null
    this.connected = false
    this.#socket?.terminate()
    this.#socket = null
  }
}

function whatWasSaid(text: string, ending?: string): 'subscribed' | 'refused' | 'ended' | null {
  try {
    const message: unknown = JSON.parse(text)
    if (typeof message !== 'object' || message === null) return null
    if (ending !== undefined && 'method' in message && message.method === ending) return 'ended'
    if (!('id' in message) || message.id !== 1) return null
    return 'error' in message ? 'refused' : 'subscribed'
  } catch {
    return null
  }
}
