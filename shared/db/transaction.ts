import { sql } from 'kysely'
import { takeConnection, type Db } from './connect.ts'
import { sqlState } from './failures.ts'

export { isDatabaseRetryable } from './failures.ts'

declare const inside: unique symbol

/** What is asked of it is part of a transaction; what is asked side by side is on its way at once. */
export type Trx = Db & { readonly [inside]: true }

/** Runs `work` in one transaction: all of it is written, or nothing. Nothing of it may be under way when it has ended. */
export function inTransaction<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> {
  return within(db, 'begin', work)
}

/** Well below the time after which the server ends a transaction that is silent, see `connect`. */
const SIGN_OF_LIFE_MS = 1_000

/**
 * All that `work` reads is of one state of the database, however long it takes and whatever else it waits for. That state
 * costs others something: dead rows stay, and the tables that were read cannot be taken (a replay waits with its switch).
 * So the limit of silence holds here too, for who is frozen or gone; who only waits gives signs of life.
 */
export function inOneState<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> {
  return within(db, 'begin isolation level repeatable read read only', async (trx) => {
    const stop = giveSignsOfLife(trx)
    try {
      return await work(trx)
    } finally {
      stop()
    }
  })
}

/** Until the function that it returns is called. One that fails is no matter: the next statement will tell. */
function giveSignsOfLife(trx: Trx): () => void {
  let isOnItsWay = false
  const timer = setInterval(() => {
    if (isOnItsWay) return
    isOnItsWay = true
    const answered = (): void => {
      isOnItsWay = false
    }
    sql`select 1`.execute(trx).then(answered, answered)
  }, SIGN_OF_LIFE_MS)
  return () => clearInterval(timer)
}

async function within<T>(db: Db, begin: string, work: (trx: Trx) => Promise<T>): Promise<T> {
  const { session, say, giveBack } = await takeConnection(db)
  let isUsable = true
  try {
    await say(begin)
    const result = await work(session as Trx)
    const done = await say('commit')
    if (done !== 'COMMIT') throw new Error('a statement failed, which nobody minded: nothing was written')
    return result
  } catch (error) {
    // What was begun is no business of whoever has the connection next.
    isUsable = await say('rollback').then(
      () => true,
      () => false,
    )
    throw error
  } finally {
    giveBack(isUsable)
  }
}

/** What Postgres answers to all that is asked of a transaction in which something failed already. */
const ABORTED = '25P02'

/**
 * What all of these come to, which ask of one transaction. Rejects once all have ended, so that none of them asks when the
 * transaction is over, with what failed: not with what the others were answered because of it. Postgres answers in the
 * order in which they ask; what is won is the time in which one makes its rows while another's are written.
 */
export async function overlapping<T extends readonly unknown[] | []>(
  parts: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  const failures: unknown[] = []
  const noteFailure = (failure: unknown): void => {
    failures.push(failure)
  }
  await Promise.all(parts.map((part) => Promise.resolve(part).then(() => undefined, noteFailure)))
  if (failures.length === 0) return Promise.all(parts)
  throw failures.find((failure) => sqlState(failure) !== ABORTED) ?? failures[0]
}
