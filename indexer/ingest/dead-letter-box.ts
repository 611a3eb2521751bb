import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../shared/db/connect.ts'
import { letterOf, putDeadLetters, type Letter, type Refusal } from './dead-letters.store.ts'

/** Letters per statement: with the largest payloads, 32 MiB of parameters. */
const MOST_AT_ONCE = 500

/**
 * A statement waits this long to gather letters. A transaction for every few letters takes Postgres as much time as
 * BullMQ's queue does.
 */
const GATHER_MS = 25

interface Posted {
  letter: Letter
  kept: () => void
  failed: (error: unknown) => void
}

/**
 * Writes dead letters together: those that arrive within some milliseconds share a transaction, even in a flood of
 * garbage.
 */
export class DeadLetterBox {
  readonly #db: Db
  #waiting: Posted[] = []
  #isWriting = false

  constructor(db: Db) {
    this.#db = db
  }

  /** Letters that are not written yet, excluding those of the current statement. */
  get size(): number {
    return this.#waiting.length
  }

  /** Resolves once the letter is stored; rejects if the database fails. */
  put(refusal: Refusal): Promise<void> {
    return new Promise((kept, failed) => {
      this.#waiting.push({ letter: letterOf(refusal), kept, failed })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      await sleep(GATHER_MS)
      const batch = this.#waiting.splice(0, MOST_AT_ONCE)
      try {
        await putDeadLetters(
          this.#db,
          batch.map(({ letter }) => letter),
        )
        for (const { kept } of batch) kept()
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    this.#isWriting = false
  }
}
