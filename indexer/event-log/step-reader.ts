import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { getEntriesBetween, getLastPosition, type ReadEntry } from './read-log.ts'

/** A chunk ends at whichever limit comes first, but never within a step. */
export interface ChunkSize {
  entries: number
  /** Bytes of the entries' bodies as JSON. */
  bytes: number
}

/** Entries per query, and thus the most that are held beyond a chunk. */
const PAGE = 500

/** Reads the log in order, in chunks of whole steps. Calls must not overlap; a failed call can be repeated. */
export class StepReader {
  readonly #db: Db | Trx
  #position: number
  /** Entries that were read but not returned; the first one begins a step. */
  #read: ReadEntry[] = []

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#position = after
  }

  /** Returns the next steps: as much as wanted, or all that exist at the call. Empty at the log's end. */
  async next(wanted: ChunkSize): Promise<LogEntry[]> {
    // A step is appended as a whole, so all steps up to this position are complete.
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

  /** Positions have no gaps, and a step's number is the position of its first entry. */
  #startOfLastStep(): number {
    const [first, last] = [this.#read.at(0), this.#read.at(-1)]
    return first === undefined || last === undefined ? 0 : last.entry.step - first.entry.position
  }
}
