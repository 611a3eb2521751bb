import type { Socket } from 'node:net'
import WebSocket from 'ws'
import { endpointLabel } from '../../../shared/log.ts'
import { Wakeup } from '../../../shared/async/wakeup.ts'
import { Backoff } from '../backoff.ts'
import { exceededBound } from './json-bounds.ts'
import type { Report } from './rpc-client.ts'

/** A WebSocket subscription by which a node announces new heads. */
export interface HeadSubscription {
  url: string
  headers?: Record<string, string>
  request: { method: string; params: unknown[] }
  /** Method by which the node ends the subscription, if there is one. */
  endsWith?: string
}

export interface TickOptions {
  /** An empty list means polling only. */
  subscriptions: HeadSubscription[]
  pollIntervalMs: number
  report: Report
}

/** Polling is this many times slower while a node announces new heads. */
const SAFETY_NET_FACTOR = 10
const CHECK_EVERY_MS = 1_000
const PING_EVERY_CHECKS = 20

/**
 * Longer messages end the socket. A new head of Ethereum takes 2 KiB. A Filecoin reorg lists whole tipsets of 10 to 30
 * KiB each.
 */
const MOST_MESSAGE_BYTES = 256 * 1024
/** A tipset's blocks have about a hundred values each. */
const MOST_VALUES = 10_000
/** Most bytes between two checks, pings and empty frames included; more is a flood. */
const FLOOD_BYTES = 1024 * 1024
/** Most messages and pings between two checks. */
const FLOOD_FRAMES = 1_000
/** Pongs that the other side does not read wait in memory. */
const MOST_UNSENT_BYTES = 64 * 1024
const AFTER_FLOOD_MS = 60_000

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

/** One subscription, which reconnects whenever it breaks. */
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
  /** Messages and pings since the last check. */
  #frames = 0
  #retryAfterMs = 0
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
    const socket = new WebSocket(url, {
      ...{ handshakeTimeout: 10_000, maxPayload: MOST_MESSAGE_BYTES, headers },
      ...{ perMessageDeflate: false, autoPong: false },
    })
    this.#socket = socket
    let stream: Socket | null = null
    socket.on('upgrade', (response) => (stream = response.socket))
    socket.on('open', () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }))
      this.#alive = true
      this.#ping = this.#checkRegularly(socket, () => stream?.bytesRead ?? 0)
    })
    socket.on('pong', () => this.#countFrame(socket))
    socket.on('ping', (data) => {
      if (this.#countFrame(socket)) socket.pong(data)
    })
    socket.on('message', (data: WebSocket.RawData) => {
      if (this.#countFrame(socket)) this.#onMessage(data)
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => this.#onClose(socket))
  }

  /** Any message may mean a new head. The answer to the request confirms that the node will announce heads. */
  #onMessage(data: WebSocket.RawData): void {
    const said = Buffer.isBuffer(data) ? whatWasSaid(data, this.#asked.endsWith) : null
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

  /** Returns false when there were too many, which ends the socket. */
  #countFrame(socket: WebSocket): boolean {
    this.#alive = true
    this.#frames += 1
    if (this.#frames <= FLOOD_FRAMES && socket.bufferedAmount <= MOST_UNSENT_BYTES) return true
    this.#endFlood(socket)
    return false
  }

  #checkRegularly(socket: WebSocket, bytesRead: () => number): NodeJS.Timeout {
    let checks = 0
    let before = bytesRead()
    return setInterval(() => {
      checks += 1
      this.#frames = 0
      const now = bytesRead()
      if (now - before > FLOOD_BYTES) this.#endFlood(socket)
      else if (checks % PING_EVERY_CHECKS === 0) this.#checkAlive(socket)
      before = now
    }, CHECK_EVERY_MS)
  }

  #endFlood(socket: WebSocket): void {
    if (socket.readyState !== WebSocket.OPEN) return
    this.#retryAfterMs = AFTER_FLOOD_MS
    const { url } = this.#asked
    this.#report('warn', `${endpointLabel(url)} floods its WebSocket: polling for ${AFTER_FLOOD_MS / 1000} s`)
    socket.terminate()
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
    this.#retry = setTimeout(() => this.#connect(), Math.max(this.#retryAfterMs, this.#backoff.nextMs()))
    this.#retryAfterMs = 0
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

function whatWasSaid(data: Buffer, ending?: string): 'subscribed' | 'refused' | 'ended' | null {
  if (exceededBound(data, { values: MOST_VALUES }) !== null) return null
  try {
    const message: unknown = JSON.parse(data.toString())
    if (typeof message !== 'object' || message === null) return null
    if (ending !== undefined && 'method' in message && message.method === ending) return 'ended'
    if (!('id' in message) || message.id !== 1) return null
    return 'error' in message ? 'refused' : 'subscribed'
  } catch {
    return null
  }
}
