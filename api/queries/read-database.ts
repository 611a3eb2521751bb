import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from '../../shared/db/connect.ts'
import { reading } from '../../shared/db/session.ts'
import { SessionClient } from '../../shared/db/session-client.ts'
import { isDatabaseRetryable } from '../../shared/db/transaction.ts'
import type { Tables } from '../../shared/db/schema.ts'
import { watchForStalls, type StallWatch } from './stalls.ts'

/** One SQL statement that each connection prepares once, under its name. */
export interface Statement {
  name: string
  text: string
}

export interface ReadDatabase {
  /** Runs one statement and returns its rows. Throws {@link DatabaseAway} when no answer is to be had now. */
  rows: <Row extends object>(statement: Statement, values?: unknown[]) => Promise<Row[]>
  /** Calls back when a connection was lost or the database did not answer: another server may answer next. */
  onLoss: (listener: () => void) => void
  /** The same connections, as the schema check wants them. */
  db: Db
  close: () => Promise<void>
}

/** The database is away, or too slow to wait for: asking again later may help. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
}

/**
 * A request is one statement of a few index look-ups, or a part of one, so these are generous. Together they keep the answer of
 * a database that is frozen or unreachable within two seconds.
 */
const CONNECT_TIMEOUT_MS = 1500
const STATEMENT_TIMEOUT_MS = 1500
/** For a server that does not even keep its own time-out. */
const ANSWER_TIMEOUT_MS = 1800

/**
 * A connection that is new is slow for a while: it plans each statement, and touches each page of the database's memory for the first
 * time (docs/performance.md). So it outlives a lull; what is between it and the database sees it alive.
 */
const KEPT_IDLE_MS = 5 * 60_000
const KEEP_ALIVE_MS = 30_000

/**
 * Each statement leaves Postgres one index to take, whatever is asked for: so it is planned once, where a page that
 * comes alone would be planned anew each time, which costs more than the page. A plan is kept while its tables grow, so
 * it must not be that of an empty table; and what it thinks of its rows must not bring about compilation, which takes
 * longer than any answer.
 */
const PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' }
const SESSION = reading({ ...PLANS, statement_timeout: String(STATEMENT_TIMEOUT_MS) })

export function openReadDatabase(
  url: string,
  options: { connections?: number; onError: (error: Error) => void },
): ReadDatabase {
  const pool = new pg.Pool({
    Client: SessionClient,
    session: SESSION,
    connectionString: url,
    application_name: 'loan-activity api',
    max: options.connections ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idleTimeoutMillis: KEPT_IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  } as pg.PoolConfig)
  const losses: (() => void)[] = []
  const lose = (): void => {
    for (const listener of losses) listener()
  }
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', (error) => {
    lose()
    options.onError(error)
  })
  const stalls = watchForStalls()
  return {
    rows: async (statement, values = []) => {
      try {
        return await askPatiently(pool, stalls, statement, values)
      } catch (error) {
        if (error instanceof DatabaseAway) lose()
        throw error
      }
    },
    onLoss: (listener) => void losses.push(listener),
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    close: () => {
      stalls.stop()
      return pool.end()
    },
  }
}

/** Asks once more where it was this process that did not run, and the database may be well. */
async function askPatiently<Row extends object>(
  pool: pg.Pool,
  stalls: StallWatch,
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  const askedMs = performance.now()
  try {
    return await ask(pool, statement, values)
  } catch (error) {
    if (!(error instanceof DatabaseAway) || stalls.lastEndedMs < askedMs) throw error
    return ask(pool, statement, values)
  }
}

/**
 * One statement and no transaction: `replay` switches to new tables by renaming schemas, and a statement finds
 * either the old ones or the new ones, for Postgres resolves the names of a prepared statement anew after that.
 */
async function ask<Row extends object>(
  pool: pg.Pool,
  { name, text }: Statement,
  values: unknown[],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>({ name, text, values })).rows
  } catch (error) {
    if (isAway(error)) throw new DatabaseAway('the database does not answer', { cause: error })
    throw error
  }
}

/** Beside what may be tried again: the password or the database changed under us, or a time-out was reached. */
function isAway(error: unknown): boolean {
  if (isDatabaseRetryable(error)) return true
  if (error instanceof pg.DatabaseError) return /^(28|3D000|57014)/.test(error.code ?? '')
  return error instanceof Error && /^Query read timeout|not queryable$/.test(error.message)
}
