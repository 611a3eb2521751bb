import type { Duplex } from 'node:stream'

/**
 * Bounds what all connections together hold: requests that wait for their turn, and answers that clients do not take.
 * Over the bound, the connections that have held anything for longest are closed.
 */
export class HeldBytes {
  private readonly byConnection = new Map<Duplex, number>()
  private total = 0

  constructor(private readonly most: number) {}

  /** Replaces the number of bytes that a connection holds; 0 forgets it. */
  set(connection: Duplex, bytes: number): void {
    this.total += bytes - (this.byConnection.get(connection) ?? 0)
    // A map keeps the place of a key that it has: the first is the one that holds for longest.
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
