/** What BullMQ makes a connection for. */
export interface Readying {
  waitUntilReady(): Promise<unknown>
  close(force?: boolean): Promise<void>
}

/**
 * Something of BullMQ's that is used only once its connection is ready, and made anew when that failed. BullMQ makes a
 * connection to Postgres ready once and keeps how that ended: where a session ended meanwhile, all that it does
 * afterwards fails at once, and a worker that tries again without a pause lets nothing else of its process run.
 */
export class MadeReady<T extends Readying> {
  readonly #make: () => T
  #ready: Promise<T> | undefined
  #isClosed = false

  constructor(make: () => T) {
    this.#make = make
  }

  /** Rejects when the connection could not be made ready; the next call tries it again. Nothing is made once it is closed. */
  get(): Promise<T> {
    if (this.#isClosed) return Promise.reject(new Error('the queue was closed'))
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /** What was never asked for is not made. */
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
