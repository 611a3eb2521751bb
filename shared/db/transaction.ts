import { sql } from 'kysely'
import { lendClient, onClient, type Db } from './connect.ts'
import type { LentClient } from './lent-client.ts'

export { isDatabaseRetryable } from './failures.ts'

declare const inside: unique symbol

/** Queries within a transaction. They share a connection, so each is awaited before the next. */
export type Trx = Db & { readonly [inside]: true }

/** Runs `work` in one transaction: all of it is written, or nothing. None of its queries may still run when it ends. */
export function inTransaction<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> {
  return within(db, 'begin', work)
}

/** Well below the server's limit for silent transactions (`idle_in_transaction_session_timeout`). */
const SIGN_OF_LIFE_MS = 1_000

/**
 * Runs `work` on one read-only snapshot of the database, however long it takes and whatever else it waits for. The
 * snapshot has a price: dead rows stay, and a replay's switch waits for the tables that were read. The server's limit
 * for silent transactions therefore applies here too. Signs of life protect a transaction that merely waits.
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

/** Repeats until the returned function is called. A failure is ignored: the next statement will report it. */
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
    // Postgres answers a commit with ROLLBACK if a statement failed.
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

/** The connection of a transaction, for features that Kysely lacks. */
export function clientOf(trx: Trx): LentClient {
  const client = clients.get(trx)
  if (client === undefined) throw new Error('this is no transaction')
  return client
}
