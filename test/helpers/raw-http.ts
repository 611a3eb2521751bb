import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The parts of an answer that these tests read. */
export interface RawAnswer {
  status: number
  /** The answer's head in lower case. */
  head: string
  milliseconds: number
}

/**
 * Sends one request at a time over one connection; opens another where the server closed it. `from` is the local
 * address.
 */
export class KeepAliveClient {
  private socket: Socket | undefined
  private pending: { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void } | undefined
  private received: Buffer = Buffer.alloc(0)
  private sentMs = 0

  constructor(
    private readonly port: number,
    private readonly from = '127.0.0.1',
  ) {}

  /** Rejects when the connection breaks before the answer is complete. */
  async get(path: string): Promise<RawAnswer> {
    this.sentMs = performance.now()
    const socket = (this.socket ??= await this.open())
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject }
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    })
  }

  close(): void {
    this.socket?.destroy()
    this.socket = undefined
  }

  private async open(): Promise<Socket> {
    const socket = connect({ port: this.port, host: '127.0.0.1', localAddress: this.from, noDelay: true })
    await once(socket, 'connect')
    this.received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    const lose = (error?: Error): void => {
      if (this.socket === socket) this.socket = undefined
      this.pending?.reject(error ?? new Error('the connection was closed before the answer'))
      this.pending = undefined
    }
    socket.on('error', lose)
    socket.on('close', () => lose())
    return socket
  }

  private take(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk])
    const end = this.received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.received.toString('latin1', 0, end).toLowerCase()
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
    if (this.received.length < end + 4 + length) return
    this.received = this.received.subarray(end + 4 + length)
    if (head.includes('connection: close')) this.close()
    const pending = this.pending
    this.pending = undefined
    pending?.resolve({
      status: Number(head.slice(9, 12)),
      head,
      milliseconds: performance.now() - this.sentMs,
    })
  }
}

/** Opens sockets that write pipelined requests in one piece of `bytes` bytes, again and again where `forever`. */
export function openPipeliners(
  port: number,
  options: {
    sockets: number
    path: string
    bytes?: number
    reads: boolean
    forever?: boolean
    from?: string
  },
): { close: () => void; closed: () => number } {
  const { sockets, path, bytes = 65_536, reads, forever = false, from = '127.0.0.2' } = options
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
  const burst = Buffer.from(request.repeat(Math.floor(bytes / request.length)))
  let closed = 0
  const open = Array.from({ length: sockets }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    const write = (): void => {
      socket.write(burst, () => {
        if (forever && !socket.destroyed) setImmediate(write)
      })
    }
    socket.once('connect', write)
    socket.on('error', () => undefined)
    socket.on('close', () => (closed += 1))
    if (reads) socket.resume()
    return socket
  })
  return { close: () => open.forEach((socket) => socket.destroy()), closed: () => closed }
}
