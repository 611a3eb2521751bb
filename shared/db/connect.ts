import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { CopyingClient } from './copying-client.ts'
import type { Tables } from './schema.ts'
import { SteadyClient } from './steady-client.ts'

export type Db = Kysely<Tables>

/** Who falls silent within a transaction (frozen, or its machine gone) must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 20_000

/**
 * Opens a pool of at most `max` connections. bigint columns (heights, positions, ids) are read as safe integers;
 * one beyond 2^53 is an error and never a rounded number. Amounts are never in such columns.
 */
export function connect(
  url: string,
  options: { name: string; max?: number; onError?: (error: Error) => void },
): Db {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.INT8, 'text', parseSafeInteger)
  types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text', timeParser())
  const pool = new pg.Pool({
    Client: SteadyClient,
    connectionString: url,
    application_name: options.name,
    max: options.max ?? 8,
    connectionTimeoutMillis: 10_000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    types,
  })
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', (error) => options.onError?.(error))
  const copying = { connect: async () => new CopyingClient(await pool.connect()), end: () => pool.end() }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: copying }) })
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
  const client = new SteadyClient({
    connectionString: url,
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  await client.connect()
  return client
}
