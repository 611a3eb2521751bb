import type { Db } from '../shared/db/connect.ts'
import { countLoansWithoutBeginning } from './projections/loans/read-loans.store.ts'

/** An old `startBlock` is no news: the count may be as old as this. */
const EVERY_MS = 30_000

/**
 * How many loans of each network have no beginning, counted beside the status: a status never waits for a count, as
 * for one that the switch of a replay holds up. Unknown (null) until it is counted, and when that failed.
 */
export class BeginningCounts {
  readonly #db: Db
  readonly #counts = new Map<string, number>()
  readonly #beganAt = new Map<string, number>()

  constructor(db: Db) {
    this.#db = db
  }

  /** The last count; begins another one when that is long ago. Never throws. */
  of(network: string): number | null {
    const now = performance.now()
    if (now - (this.#beganAt.get(network) ?? -Infinity) >= EVERY_MS) {
      this.#beganAt.set(network, now)
      void this.#count(network)
    }
    return this.#counts.get(network) ?? null
  }

  async #count(network: string): Promise<void> {
    try {
      this.#counts.set(network, await countLoansWithoutBeginning(this.#db, network))
    } catch {
      this.#counts.delete(network)
    }
  }
}
