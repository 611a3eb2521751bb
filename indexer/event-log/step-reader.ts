import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { textLength } from '../../shared/text-length.ts'
import { getEntriesBetween, getLastPosition } from './read-log.ts'

/** How much is wanted at once, by either. A step is given whole, however long it is. */
export interface ChunkSize {
  entries: number
  /** Of the texts that entries hold, with those that were read and wait for the rest of their step. */
  characters: number
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
  /** Read and not given: the beginning of a step. */
  #begun: LogEntry[] = []
  #asked: { upTo: number; entries: Promise<LogEntry[]> } | undefined

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#position = after
  }

  /** The next steps, until they are as much as is wanted or all that there is at the call; none at the log's end. */
  async next(wanted: ChunkSize): Promise<LogEntry[]> {
    // Steps are whole up to the newest position of now: one that is appended meanwhile is left for the next call.
    const newest = await getLastPosition(this.#db)
    const chunk = this.#begun
    /** Where the last step in the chunk begins: more of it may come. */
    let lastStep = 0
    let characters = 0
    for (const { event } of chunk) characters += textLength(event)
    while (this.#position < newest) {
      if (lastStep > 0 && (lastStep >= wanted.entries || characters >= wanted.characters)) {
        this.#begun = chunk.splice(lastStep)
        return chunk
      }
      for (const entry of await this.#read(newest)) {
        if (entry.step !== chunk.at(-1)?.step) lastStep = chunk.length
        chunk.push(entry)
        characters += textLength(entry.event)
      }
    }
    this.#begun = []
    return chunk
  }

  /** Some of the entries up to `newest`. */
  async #read(newest: number): Promise<LogEntry[]> {
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

  #ask(after: number, newest: number): { upTo: number; entries: Promise<LogEntry[]> } {
    const upTo = Math.min(after + READ_AT_ONCE, newest)
    const entries = getEntriesBetween(this.#db, after, upTo)
    // Looked at when its turn comes, if it does.
    entries.catch(() => undefined)
    return { upTo, entries }
  }
}
