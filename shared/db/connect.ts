import { Kysely, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { LentClient } from './lent-client.ts'
import { RowLockDialect } from './row-lock-dialect.ts'
import type { Tables } from './schema.ts'
import type { Session } from './session.ts'
import { SessionClient } from './session-client.ts'

export type Db = Kysely<Tables>

/** Half of the time that a failover may take: a second attempt reaches an address that moved. */
const CONNECT_TIMEOUT_MS = 5_000
/** TCP notices a dead server machine after this delay and ten probes, one a second. */
const KEEP_ALIVE_MS = 5_000

/**
 * Opens a pool of at most `max` connections. bigint columns (heights, positions, ids) are read as safe integers; a
 * value beyond 2^53 throws a RangeError. Amounts are never in such columns. `connectWithinMs` limits the wait for a
 * connection, five seconds if missing.
 */
export function connect(
  url: string,
  options: {
    name: string
    max?: number
    session?: Session
    connectWithinMs?: number
    onError?: (error: Error) => void
  },
): Db {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.INT8, 'text', parseSafeInteger)
  const pool = new pg.Pool({
    ...clientConfig(url, options.name),
    Client: SessionClient,
    max: options.max ?? 8,
    types,
    ...(options.session === undefined ? {} : { session: options.session }),
    ...(options.connectWithinMs === undefined ? {} : { connectionTimeoutMillis: options.connectWithinMs }),
  })
  // The server closing an idle connection would end the process without a listener.
  pool.on('error', (error) => options.onError?.(error))
  const lend = async (): Promise<LentClient> => new LentClient(await pool.connect())
  const db = kyselyOn({ connect: lend, end: () => pool.end() })
  lenders.set(db, lend)
  // Kysely ends only a pool that it used itself; transactions use it without Kysely.
  const destroy = db.destroy.bind(db)
  db.destroy = async () => {
    await destroy()
    if (!pool.ending) await pool.end()
  }
  return db
}

const lenders = new WeakMap<Db, () => Promise<LentClient>>()

/** A connection of the pool, which the caller releases. Throws if `db` is a transaction instead of a pool. */
export function lendClient(db: Db): Promise<LentClient> {
  const lend = lenders.get(db)
  if (lend === undefined) throw new Error('a connection is taken from a pool, and this is none')
  return lend()
}

/** Runs queries on one connection, which its borrower must still release. */
export function onClient(client: LentClient): Db {
  const shared: PostgresPoolClient = { query: client.query.bind(client), release: () => undefined }
  return kyselyOn({ connect: () => Promise.resolve(shared), end: () => Promise.resolve() })
}

function kyselyOn(pool: PostgresPool): Db {
  return new Kysely<Tables>({ dialect: new RowLockDialect({ pool }) })
}

function parseSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new RangeError(`${text} from the database is beyond the safe integers`)
  return value
}

/** A separate connection for locks that live as long as the session. The caller ends it. */
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
