import type { Duplex } from 'node:stream'

/**
 * Bounds the bytes that all connections together hold: waiting requests, and answers that clients have not read. Above
 * the bound it closes the connections that have held bytes for longest.
 */
export class HeldBytes {
  private readonly byConnection = new Map<Duplex, number>()
  private total = 0

  constructor(private readonly most: number) {}

  /** Replaces the number of bytes that a connection holds; 0 removes the connection. */
  set(connection: Duplex, bytes: number): void {
    this.total += bytes - (this.byConnection.get(connection) ?? 0)
    // A map keeps the position of an existing key, so the first key has held bytes for longest.
    if (bytes > 0) this.byConnection.set(connection, bytes)
    else this.byConnection.delete(connection)
    while (this.total > this.most) {
      const [oldest] = this.byConnection.keys()
      if (oldest === undefined) return
      this.set(oldest, 0)
      oldest.destroy()
    }
  }
}
