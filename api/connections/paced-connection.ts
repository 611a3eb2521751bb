import { Duplex } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HeldBytes } from './held-bytes.ts'

/** The shortest request has 18 bytes; shorter slices would let blank lines cost a call each. */
const SHORTEST_REQUEST = 16
const BLANK_LINE = '\r\n\r\n'

type Done = (error?: Error | null) => void

/**
 * A client's socket, handed to Node's HTTP server one request head at a time. Node parses all requests of a chunk at
 * once, about 1,500 in 64 KiB, and holds each in memory until its turn. Here the next head is passed on once the
 * request before it was answered; until then the socket is not read.
 */
export class PacedConnection extends Duplex {
  /** Fastify and proxy-addr read it; kept because a closed socket no longer knows it. */
  readonly remoteAddress: string | undefined
  private unread: Buffer | undefined
  private isWanted = false
  private hasEnded = false
  private requests = 0
  private isAsking = false
  private lastRequest: IncomingMessage | undefined

  constructor(
    private readonly raw: Socket,
    private readonly held: HeldBytes,
  ) {
    // One byte: nothing is asked of `_read` before the parser has taken the slice before it.
    super({ readableHighWaterMark: 1, decodeStrings: false })
    this.remoteAddress = raw.remoteAddress
    raw.on('data', (chunk: Buffer) => {
      this.isAsking = true
      this.unread = this.unread === undefined ? chunk : Buffer.concat([this.unread, chunk])
      this.passOn()
      if (this.hasUnread()) raw.pause()
      this.account()
    })
    raw.once('end', () => {
      this.hasEnded = true
      this.passOn()
    })
    raw.on('timeout', () => this.emit('timeout'))
    raw.once('error', (error) => this.destroy(error))
    raw.once('close', () => this.destroy())
  }

  /** Everything that arrived was answered, and the system has taken every answer. */
  get isIdle(): boolean {
    return !this.isAsking && this.raw.writableLength === 0
  }

  /** Counts a request of this connection until its answer is complete or the connection is closed. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1
    this.lastRequest = request
    response.once('close', () => {
      this.requests -= 1
      this.isAsking = this.requests > 0 || this.unread !== undefined
      // Other connections get their turn before the next request of this one.
      if (this.unread !== undefined) setImmediate(() => this.passOn())
    })
  }

  override _read(): void {
    this.isWanted = true
    if (this.unread !== undefined || this.hasEnded) setImmediate(() => this.passOn())
    else this.raw.resume()
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.raw.write(chunk, encoding, (error) => this.written(error, done))
    this.account()
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done): void {
    this.raw.cork()
    chunks.forEach(({ chunk, encoding }, index) => {
      const isLast = index === chunks.length - 1
      this.raw.write(chunk, encoding, isLast ? (error) => this.written(error, done) : undefined)
    })
    this.raw.uncork()
    this.account()
  }

  override _final(done: Done): void {
    this.raw.end(done)
  }

  override _destroy(error: Error | null, done: Done): void {
    this.unread = undefined
    this.held.set(this, 0)
    this.raw.destroy()
    done(error)
  }

  /** As of a net.Socket: Node's HTTP server calls it with `keepAliveTimeout` and `timeout`. */
  setTimeout(milliseconds: number): this {
    this.raw.setTimeout(milliseconds)
    return this
  }

  /** As of a net.Socket: closes once everything was written. */
  destroySoon(): void {
    this.end(() => this.raw.destroySoon())
  }

  private hasUnread(): boolean {
    return this.unread !== undefined
  }

  private passOn(): void {
    if (!this.isWanted || this.destroyed) return
    if (this.unread === undefined) {
      if (this.hasEnded) this.push(null)
      return
    }
    // The body of a request that is not complete yet has to pass.
    if (this.requests > 0 && this.lastRequest?.complete === true) return
    this.isWanted = false
    const end = this.unread.indexOf(BLANK_LINE, SHORTEST_REQUEST)
    const length = end < 0 ? this.unread.length : end + BLANK_LINE.length
    const slice = this.unread.subarray(0, length)
    this.unread = length === this.unread.length ? undefined : this.unread.subarray(length)
    this.push(slice)
  }

  private written(error: Error | null | undefined, done: Done): void {
    this.account()
    done(error)
  }

  private account(): void {
    // A slice keeps the whole buffer that it is of.
    const unread = this.unread === undefined ? 0 : this.unread.buffer.byteLength + this.raw.readableLength
    this.held.set(this, unread + this.raw.writableLength)
  }
}
