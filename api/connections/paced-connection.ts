import { Duplex } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HeldBytes } from './held-bytes.ts'

/** Bytes. The shortest request has 18; shorter slices would let blank lines cost a call each. */
const SHORTEST_REQUEST = 16
const BLANK_LINE = '\r\n\r\n'

type Done = (error?: Error | null) => void

/**
 * A client's socket, passed to Node's HTTP server one request head at a time. Node parses all requests of a chunk at
 * once, about 1,500 in 64 KiB, and holds each in memory until its turn. This class passes the next head on once the
 * previous request was answered, and does not read the socket until then.
 */
export class PacedConnection extends Duplex {
  /** Read by Fastify and proxy-addr; kept because a closed socket no longer knows it. */
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
    // One byte: the stream calls `_read` only after the parser has taken the previous slice.
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

  /** True when every request was answered and the system has taken every answer. */
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
      // Other connections get their turn before this connection's next request.
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
    // One write costs less than a cork of two, and answers are small.
    const parts = chunks.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    )
    this.raw.write(Buffer.concat(parts), (error) => this.written(error, done))
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

  /** Part of the net.Socket interface: Node's HTTP server calls it with `keepAliveTimeout` and `timeout`. */
  setTimeout(milliseconds: number): this {
    this.raw.setTimeout(milliseconds)
    return this
  }

  /** Part of the net.Socket interface: closes once everything was written. */
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
    // The rest of an incomplete request's body must pass.
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
    // A slice keeps its whole underlying buffer in memory.
    const unread = this.unread === undefined ? 0 : this.unread.buffer.byteLength + this.raw.readableLength
    this.held.set(this, unread + this.raw.writableLength)
  }
}
