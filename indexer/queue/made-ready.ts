/** A queue, worker or listener of BullMQ. */
export interface Readying {
  waitUntilReady(): Promise<unknown>
  close(force?: boolean): Promise<void>
}

/**
 * Uses an object of BullMQ only once its connection is ready, and makes another one if that fails. BullMQ prepares a connection
 * to Postgres once and keeps the result. After a failure all calls would fail at once, and a worker that repeats them without a
 * pause would block its process.
 */
export class MadeReady<T extends Readying> {
  readonly #make: () => T
  #ready: Promise<T> | undefined
  #isClosed = false

  constructor(make: () => T) {
    this.#make = make
  }

  /** Rejects when the connection cannot be prepared; the next call tries again. Rejects once closed. */
  get(): Promise<T> {
    if (this.#isClosed) return Promise.reject(new Error('the queue was closed'))
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /** Makes nothing that was never asked for. */
  async close(): Promise<void> {
    this.#isClosed = true
    const made = await this.#ready?.catch(() => undefined)
    await made?.close()
  }

  async #open(): Promise<T> {
    const made = this.#make()
    try {
      await made.waitUntilReady()
      return made
    } catch (error) {
      await made.close(true).catch(() => undefined)
      throw error
    }
  }
}
