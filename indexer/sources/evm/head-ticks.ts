import WebSocket from 'ws'
import { endpointLabel } from '../../../shared/log.ts'
import { Backoff, Wakeup } from '../waiting.ts'
import type { Report } from './evm-client.ts'

export interface TickOptions {
  /** Null: polling only. */
  wsUrl: string | null
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
  const subscription = options.wsUrl === null ? null : new Subscription(options.wsUrl, heads, options.report)
  try {
    for (;;) {
      const told = subscription?.connected ?? false
      await heads.wait(told ? options.pollIntervalMs * SAFETY_NET_FACTOR : options.pollIntervalMs, signal)
      if (signal.aborted) return
      yield
    }
  } finally {
    subscription?.close()
  }
}

/** `eth_subscribe newHeads`, connected again whenever it breaks. */
class Subscription {
  readonly #url: string
  readonly #heads: Wakeup
  readonly #report: Report
  readonly #backoff = new Backoff(500, 30_000)
  #socket: WebSocket | null = null
  #retry: NodeJS.Timeout | null = null
  #ping: NodeJS.Timeout | null = null
  #alive = false
  #closed = false
  connected = false

  constructor(url: string, heads: Wakeup, report: Report) {
    this.#url = url
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
    const socket = new WebSocket(this.#url, { handshakeTimeout: 10_000, maxPayload: 16 * 1024 * 1024 })
    this.#socket = socket
    socket.on('open', () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
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
    const answer = Buffer.isBuffer(data) ? subscriptionAnswer(data.toString('utf8')) : null
    if (answer === 'refused') {
      this.#report('warn', `${endpointLabel(this.#url)} refuses eth_subscribe: polling instead`)
      this.#closed = true
      this.#drop()
    }
    if (answer === 'subscribed') {
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
      this.#report('warn', `${endpointLabel(this.#url)} closed the subscription: polling until it is back`)
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

function subscriptionAnswer(text: string): 'subscribed' | 'refused' | null {
  try {
    const message: unknown = JSON.parse(text)
    if (typeof message !== 'object' || message === null || !('id' in message) || message.id !== 1) return null
    return 'error' in message ? 'refused' : 'subscribed'
  } catch {
    return null
  }
}
