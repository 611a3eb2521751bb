import { Server, type RequestListener } from 'node:http'
import { Socket } from 'node:net'
import { HeldBytes } from './held-bytes.ts'
import { PacedConnection } from './paced-connection.ts'

/** Bytes, for all connections together. A client that reads its answers holds none most of the time. */
const MOST_HELD_BYTES = 32 * 1024 * 1024
/** A connection takes about 20 KiB. One connection more closes the one that has been idle for longest. */
const MOST_CONNECTIONS = 4000
const HEADERS_WITHIN_MS = 5000
const REQUEST_WITHIN_MS = 10_000
/** A client that reads nothing of its answer for this long is disconnected. */
const STALLED_MS = 15_000
const KEEP_ALIVE_MS = 72_000
const CHECK_EVERY_MS = 1000

/** An HTTP server whose connections are {@link PacedConnection}s, with bounds on their number, time and memory. */
export class PacedServer extends Server {
  private readonly held = new HeldBytes(MOST_HELD_BYTES)
  /** Ordered by their last request, the newest last. */
  private readonly clients = new Set<PacedConnection>()

  constructor(handler: RequestListener) {
    super(
      {
        headersTimeout: HEADERS_WITHIN_MS,
        requestTimeout: REQUEST_WITHIN_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: CHECK_EVERY_MS,
        noDelay: true,
      },
      (request, response) => {
        const connection: unknown = request.socket
        if (connection instanceof PacedConnection) {
          this.clients.delete(connection)
          this.clients.add(connection)
          connection.begin(request, response)
        }
        handler(request, response)
      },
    )
    this.timeout = STALLED_MS
  }

  /**
   * Node's own method cuts off answers that a slow client is still reading, and keeps connections that never sent a
   * request.
   */
  override closeIdleConnections(): void {
    for (const connection of this.clients) if (connection.isIdle) connection.destroy()
  }

  /** Node accepts any duplex stream that is emitted as a connection. */
  override emit(event: string, ...args: unknown[]): boolean {
    const [socket] = args
    if (event !== 'connection' || !(socket instanceof Socket)) return super.emit(event, ...args)
    const connection = new PacedConnection(socket, this.held)
    this.clients.add(connection)
    connection.once('close', () => this.clients.delete(connection))
    if (this.clients.size > MOST_CONNECTIONS) this.longestIdle()?.destroy()
    return super.emit(event, connection)
  }

  /** The oldest of all only where none is idle: an open stream sent its request long ago. */
  private longestIdle(): PacedConnection | undefined {
    const [oldest] = this.clients
    for (const connection of this.clients) if (connection.isIdle) return connection
    return oldest
  }
}
