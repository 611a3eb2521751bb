import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { getEntriesBetween, getLastPosition, type ReadEntry } from './read-log.ts'

/** A chunk ends where either is reached. A step is never cut, however long it is. */
export interface ChunkSize {
  entries: number
  /** Of the entries' bodies, as JSON. */
  bytes: number
}

/** Entries of one query: beyond a chunk, no more than these are held. */
const PAGE = 500

/** Reads the log in order, in chunks of whole steps. One call at a time; a call that failed can be repeated. */
export class StepReader {
  readonly #db: Db | Trx
  #position: number
  /** Entries that were read and not returned; the first one begins a step. */
  #read: ReadEntry[] = []

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#position = after
  }

  /** The next steps, until they are as much as is wanted or all that there is at the call; none at the log's end. */
  async next(wanted: ChunkSize): Promise<LogEntry[]> {
    // A step is appended as a whole: up to this position all are complete.
    const newest = await getLastPosition(this.#db)
    while (this.#position < newest && !this.#isEnough(wanted)) {
      const upTo = Math.min(this.#position + PAGE, newest)
      this.#read.push(...(await getEntriesBetween(this.#db, this.#position, upTo)))
      this.#position = upTo
    }
    const isComplete = this.#position >= newest
    const chunk = this.#read.splice(0, isComplete ? this.#read.length : this.#startOfLastStep())
    return chunk.map(({ entry }) => entry)
  }

  #isEnough({ entries, bytes }: ChunkSize): boolean {
    const whole = this.#startOfLastStep()
    return whole > 0 && (whole >= entries || this.#read.reduce((sum, one) => sum + one.bytes, 0) >= bytes)
  }

  /** Positions have no gaps, and a step is the position of its first entry. */
  #startOfLastStep(): number {
    const [first, last] = [this.#read.at(0), this.#read.at(-1)]
    return first === undefined || last === undefined ? 0 : last.entry.step - first.entry.position
  }
}
