import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { getEntriesBetween, getLastPosition, type ReadEntry } from './read-log.ts'

/** How much is wanted at once, by either. A step is given whole, however long it is. */
export interface ChunkSize {
  entries: number
  /** Of their rows, with those that were read and wait for the rest of their step. */
  bytes: number
}

/** Entries that were read one after the other and are not given yet. Of the last step more may come. */
class Waiting {
  #read: ReadEntry[] = []
  /** Where the last step begins. */
  #lastStep = 0
  #bytes = 0

  add(read: readonly ReadEntry[]): void {
    let step = this.#read.at(-1)?.entry.step
    for (const one of read) {
      if (one.entry.step !== step) {
        step = one.entry.step
        this.#lastStep = this.#read.length
      }
      this.#read.push(one)
      this.#bytes += one.bytes
    }
  }

  /** Whether the steps before the last one are as much as is wanted. */
  areEnough({ entries, bytes }: ChunkSize): boolean {
    return this.#lastStep > 0 && (this.#lastStep >= entries || this.#bytes >= bytes)
  }

  takeAllButLastStep(): LogEntry[] {
    const lastStep = this.#read.splice(this.#lastStep)
    const taken = this.takeAll()
    this.add(lastStep)
    return taken
  }

  takeAll(): LogEntry[] {
    const taken = this.#read.map(({ entry }) => entry)
    this.#read = []
    this.#lastStep = 0
    this.#bytes = 0
    return taken
  }
}

/** Entries that are asked for at once, and one such part ahead: beyond the wanted no more than two of these are held. */
const READ_AT_ONCE = 500

/**
 * Reads the log in order and gives it in whole steps. What was read of a step that goes on waits for the next call, and up to
 * the log's end as it was at the call the next entries are asked for before those before them are looked at. One call at a
 * time.
 */
export class StepReader {
  readonly #db: Db | Trx
  /** Up to here, inclusive, all was read. */
  #position: number
  readonly #waiting = new Waiting()
  #asked: { upTo: number; entries: Promise<ReadEntry[]> } | undefined

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#position = after
  }

  /** The next steps, until they are as much as is wanted or all that there is at the call; none at the log's end. */
  async next(wanted: ChunkSize): Promise<LogEntry[]> {
    // Steps are whole up to the newest position of now: one that is appended meanwhile is left for the next call.
    const newest = await getLastPosition(this.#db)
    while (this.#position < newest) {
      if (this.#waiting.areEnough(wanted)) return this.#waiting.takeAllButLastStep()
      this.#waiting.add(await this.#read(newest))
    }
    return this.#waiting.takeAll()
  }

  /** Some of the entries up to `newest`. */
  async #read(newest: number): Promise<ReadEntry[]> {
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
