/** Bounds the exports that run at once, in all and of one client. */
export class ExportPlaces {
  readonly #clients = new Set<string>()

  constructor(private readonly most: number) {}

  /** Takes a place for a client, and returns the function that frees it; null if none is free. */
  take(client: string): (() => void) | null {
    if (this.#clients.size >= this.most || this.#clients.has(client)) return null
    this.#clients.add(client)
    return () => void this.#clients.delete(client)
  }
}
