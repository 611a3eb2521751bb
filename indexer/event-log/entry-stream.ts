import type { Db } from '../../shared/db/connect.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { LogParts } from './log-parts.ts'
import { getLastPosition, type ReadEntry } from './read-log.ts'
import type { ChunkSize } from './step-reader.ts'

/**
 * Reads the log in order, as whole steps, and gives its entries one by one as they come: of thousands that are wanted only those
 * of two parts are held here. One call at a time.
 */
export class EntryStream {
  readonly #db: Db
  readonly #parts: LogParts
  /** What was read and is not given, from `#at` on. */
  #read: readonly ReadEntry[] = []
  #at = 0

  constructor(db: Db, after: number) {
    this.#db = db
    this.#parts = new LogParts(db, after)
  }

  /**
   * Gives the entries of the next steps, until they are as much as is wanted or all that there is at the call. False where one
   * was refused: those of its step before it were given. It is the first that the next call gives.
   */
  async next(wanted: ChunkSize, take: (entry: LogEntry) => boolean): Promise<boolean> {
    // As in StepReader: up to here steps are whole.
    const newest = await getLastPosition(this.#db)
    let [step, entries, bytes] = [0, 0, 0]
    for (;;) {
      for (; this.#at < this.#read.length; this.#at += 1) {
        const one = this.#read[this.#at]
        if (one === undefined) continue
        if (one.entry.step !== step && (entries >= wanted.entries || bytes >= wanted.bytes)) return true
        if (!take(one.entry)) return false
        step = one.entry.step
        entries += 1
        bytes += one.bytes
      }
      this.#read = []
      this.#at = 0
      if (this.#parts.position >= newest) return true
      this.#read = await this.#parts.read(newest)
    }
  }
}
