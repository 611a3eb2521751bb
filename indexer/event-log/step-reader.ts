import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { LogParts } from './log-parts.ts'
import { getLastPosition, type ReadEntry } from './read-log.ts'

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

/**
 * Reads the log in order and gives it in whole steps. What was read of a step that goes on waits for the next call. One call at a
 * time.
 */
export class StepReader {
  readonly #db: Db | Trx
  readonly #parts: LogParts
  readonly #waiting = new Waiting()

  constructor(db: Db | Trx, after: number) {
    this.#db = db
    this.#parts = new LogParts(db, after)
  }

  /** The next steps, until they are as much as is wanted or all that there is at the call; none at the log's end. */
  async next(wanted: ChunkSize): Promise<LogEntry[]> {
    // Steps are whole up to the newest position of now: one that is appended meanwhile is left for the next call.
    const newest = await getLastPosition(this.#db)
    while (this.#parts.position < newest) {
      if (this.#waiting.areEnough(wanted)) return this.#waiting.takeAllButLastStep()
      this.#waiting.add(await this.#parts.read(newest))
    }
    return this.#waiting.takeAll()
  }
}
