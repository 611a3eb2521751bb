import { sql } from 'kysely'
import { lendClient, onClient, type Db } from './connect.ts'
import type { LentClient } from './lent-client.ts'

export { isDatabaseRetryable } from './failures.ts'

declare const inside: unique symbol

/** Queries within a transaction. They run one after the other: each is awaited before the next. */
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
  const client = await lendClient(db)
  const trx = onClient(client) as Trx
  clients.set(trx, client)
  let isBroken = false
  try {
    await client.query(begin)
    const result = await work(trx)
    // Postgres answers a commit with ROLLBACK where a statement failed.
    const { command }: { command: string } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error('a statement failed and was ignored: nothing was written')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {
      isBroken = true
    })
    throw error
  } finally {
    client.release(isBroken)
  }
}

const clients = new WeakMap<Trx, LentClient>()

/** The connection of a transaction, for what Kysely cannot ask. */
export function clientOf(trx: Trx): LentClient {
  const client = clients.get(trx)
  if (client === undefined) throw new Error('this is no transaction')
  return client
}
