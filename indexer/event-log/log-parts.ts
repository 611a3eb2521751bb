import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { getEntriesBetween, type ReadEntry } from './read-log.ts'

/** Entries that are asked for at once, and one such part ahead: beyond what was read no more than two of these are held. */
const READ_AT_ONCE = 500

/**
 * Reads the log in order, part by part, wherever these cut its steps; the next part is asked for before the one before it is
 * looked at. One call at a time.
 */
export class LogParts {
  readonly #db: Db | Trx
  #position: number
  #asked: { upTo: number; entries: Promise<ReadEntry[]> } | undefined

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#position = after
  }

  /** Up to here, inclusive, all was read. */
  get position(): number {
    return this.#position
  }

  /** Some of the entries up to `newest`, which is beyond what was read. One that failed is read at the next call. */
  async read(newest: number): Promise<ReadEntry[]> {
    const { upTo, entries } = this.#asked ?? this.#ask(this.#position, newest)
    this.#asked = upTo < newest ? this.#ask(upTo, newest) : undefined
    try {
      const read = await entries
      this.#position = upTo
      return read
    } catch (error) {
      // Asked again, it begins with what was not read.
      this.#asked = undefined
      throw error
    }
  }

  #ask(after: number, newest: number): { upTo: number; entries: Promise<ReadEntry[]> } {
    const upTo = Math.min(after + READ_AT_ONCE, newest)
    const entries = getEntriesBetween(this.#db, after, upTo)
    // Looked at when its turn comes, if it does.
    entries.catch(() => undefined)
    return { upTo, entries }
  }
}
