import { Kysely, type PostgresPool } from 'kysely'
import pg from 'pg'
import { CopyingClient } from './copying-client.ts'
import { RowLockDialect } from './row-lock-dialect.ts'
import type { Tables } from './schema.ts'
import type { Session } from './session.ts'
import { SessionClient } from './session-client.ts'

export type Db = Kysely<Tables>

/** Half of what a failover may take until writing goes on: an address that moved answers the second attempt. */
const CONNECT_TIMEOUT_MS = 5_000
/** A server whose machine is gone is noticed after this long and ten probes of a second. */
const KEEP_ALIVE_MS = 5_000

/**
 * Opens a pool of at most `max` connections. bigint columns (heights, positions, ids) are read as safe integers;
 * one beyond 2^53 is an error and never a rounded number. Amounts are never in such columns.
 */
export function connect(
  url: string,
  options: { name: string; max?: number; session?: Session; onError?: (error: Error) => void },
): Db {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.INT8, 'text', parseSafeInteger)
  types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text', timeParser())
  const pool = new pg.Pool({
    ...clientConfig(url, options.name),
    Client: SessionClient,
    max: options.max ?? 8,
    types,
    // What is asked side by side is sent side by side: see takeConnection.
    pipeline: true,
    ...(options.session === undefined ? {} : { session: options.session }),
  })
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', (error) => options.onError?.(error))
  const lend = async (): Promise<CopyingClient> => new CopyingClient(await pool.connect())
  const db = onClients({ connect: lend, end: () => pool.end() })
  lenders.set(db, lend)
  // Kysely ends a pool that it has asked itself, and knows nothing of connections that were taken.
  const destroy = db.destroy.bind(db)
  db.destroy = async () => {
    await destroy()
    if (!pool.ending) await pool.end()
  }
  return db
}

/** One connection that nobody else has, and what is asked on it; whoever takes it gives it back. */
export interface OneConnection {
  session: Db
  /** Says a statement without parameters; what Postgres did, by its name: it answers `commit` with ROLLBACK where something failed. */
  say: (statement: string) => Promise<string>
  /** `isUsable`: whether somebody else may have it next. */
  giveBack: (isUsable: boolean) => void
}

/** As a pool lends it. */
type Lent = Pick<CopyingClient, 'query' | 'release'>

const lenders = new WeakMap<Db, () => Promise<Lent>>()

/**
 * Takes a connection of the pool. What is asked on it side by side is sent at once and answered in order: Kysely's own
 * transactions send a statement when the one before was answered, and each answer waits until this process has time for it.
 */
export function takeConnection(db: Db): Promise<OneConnection> {
  return take(db)
}

async function take(db: Db): Promise<OneConnection & { own: Lent }> {
  const lend = lenders.get(db)
  if (lend === undefined) throw new Error('a connection is taken of a pool, and this is none')
  const client = await lend()
  // The pool gets it from whoever took it of the pool, and gives nobody one that was lost.
  const own: Lent = { query: client.query.bind(client), release: () => undefined }
  const session = onClients({ connect: () => Promise.resolve(own), end: () => Promise.resolve() })
  const say = async (statement: string): Promise<string> => (await client.query(statement, [])).command
  return { session, say, giveBack: (isUsable) => client.release(!isUsable), own }
}

/**
 * What `work` comes to with a connection that nobody else has meanwhile: transactions of this session are on it, one after the
 * other. One on which it failed nobody gets again; what is still under way on another is answered before what is asked on it next.
 */
export async function onOneConnection<T>(db: Db, work: (session: Db) => Promise<T>): Promise<T> {
  const { session, giveBack, own } = await take(db)
  // Not of a transaction's session: one within it would end it.
  lenders.set(session, () => Promise.resolve(own))
  let isUsable = false
  try {
    const result = await work(session)
    isUsable = true
    return result
  } finally {
    giveBack(isUsable)
  }
}

function onClients(pool: PostgresPool): Db {
  return new Kysely<Tables>({ dialect: new RowLockDialect({ pool }) })
}

/** Rows that were written together share their times, and so the object for it, which nobody changes. */
function timeParser(): (text: string) => unknown {
  const parse = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text') as (text: string) => unknown
  let last: { text: string; time: unknown } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, time: parse(text) }
    return last.time
  }
}

function parseSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new RangeError(`${text} from the database is beyond the safe integers`)
  return value
}

/** One connection of its own, for locks that live as long as the session. The caller ends it. */
export async function connectSession(url: string, name: string): Promise<pg.Client> {
  const client = new SessionClient(clientConfig(url, name))
  await client.connect()
  return client
}

function clientConfig(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}
