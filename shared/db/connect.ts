import { Kysely, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { LentClient } from './lent-client.ts'
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
  const pool = new pg.Pool({
    ...clientConfig(url, options.name),
    Client: SessionClient,
    max: options.max ?? 8,
    types,
    ...(options.session === undefined ? {} : { session: options.session }),
  })
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', (error) => options.onError?.(error))
  const lend = async (): Promise<LentClient> => new LentClient(await pool.connect())
  const db = kyselyOn({ connect: lend, end: () => pool.end() })
  lenders.set(db, lend)
  // Kysely ends a pool that it has used itself; transactions use it without Kysely.
  const destroy = db.destroy.bind(db)
  db.destroy = async () => {
    await destroy()
    if (!pool.ending) await pool.end()
  }
  return db
}

const lenders = new WeakMap<Db, () => Promise<LentClient>>()

/** A connection of the pool, which the caller releases. Throws where `db` is no pool but a transaction. */
export function lendClient(db: Db): Promise<LentClient> {
  const lend = lenders.get(db)
  if (lend === undefined) throw new Error('a connection is taken from a pool, and this is none')
  return lend()
}

/** Queries on one connection; it stays with whoever took it from the pool. */
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
