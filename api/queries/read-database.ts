import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from '../../shared/db/connect.ts'
import { reading, settleTransaction } from '../../shared/db/session.ts'
import { SessionClient } from '../../shared/db/session-client.ts'
import { SteadyClient } from '../../shared/db/steady-client.ts'
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

/** The API's connections at most. */
export const CONNECTIONS = 10

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

/**
 * `sharesSessions`: a pooler gives each transaction another session. Then nothing can be prepared or set for a session, so
 * each statement is a transaction that begins with its settings; all of it is sent at once.
 */
export function openReadDatabase(
  url: string,
  options: { connections?: number; sharesSessions?: boolean; onError: (error: Error) => void },
): ReadDatabase {
  const pool = new pg.Pool({
    ...(options.sharesSessions === true
      ? { Client: SteadyClient, pipeline: true }
      : { Client: SessionClient, session: SESSION }),
    connectionString: url,
    application_name: 'loan-activity api',
    max: options.connections ?? CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idleTimeoutMillis: KEPT_IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
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
  const asker = options.sharesSessions === true ? askInTransaction : askPrepared
  return {
    rows: async (statement, values = []) => {
      try {
        return await askPatiently(asker, pool, stalls, statement, values)
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
  asker: Asker,
  pool: pg.Pool,
  stalls: StallWatch,
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  const askedMs = performance.now()
  try {
    return await ask<Row>(asker, pool, statement, values)
  } catch (error) {
    if (!(error instanceof DatabaseAway) || stalls.lastEndedMs < askedMs) throw error
    return ask<Row>(asker, pool, statement, values)
  }
}

/**
 * One statement and no transaction: `replay` switches to new tables by renaming schemas, and a statement finds
 * either the old ones or the new ones, for Postgres resolves the names of a prepared statement anew after that.
 */
async function ask<Row extends object>(
  asker: Asker,
  pool: pg.Pool,
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  try {
    return await asker<Row>(pool, statement, values)
  } catch (error) {
    if (isAway(error)) throw new DatabaseAway('the database does not answer', { cause: error })
    throw error
  }
}

type Asker = <Row extends object>(pool: pg.Pool, statement: Statement, values: unknown[]) => Promise<Row[]>

const askPrepared: Asker = async <Row extends object>(
  pool: pg.Pool,
  { name, text }: Statement,
  values: unknown[],
) => (await pool.query<Row>({ name, text, values })).rows

const BEGIN = `begin isolation level read committed read only; ${settleTransaction(SESSION)}`

const askInTransaction: Asker = async <Row extends object>(
  pool: pg.Pool,
  { text }: Statement,
  values: unknown[],
) => {
  const client = await pool.connect()
  const answers = [client.query(BEGIN), client.query<Row>({ text, values }), client.query('commit')] as const
  const failures = (await Promise.allSettled(answers)).filter(({ status }) => status === 'rejected')
  client.release(failures.length > 0)
  return (await answers[0].then(() => answers[1])).rows
}

/** Beside what may be tried again: the password or the database changed under us, or a time-out was reached. */
function isAway(error: unknown): boolean {
  if (isDatabaseRetryable(error)) return true
  if (error instanceof pg.DatabaseError) return /^(28|3D000|57014)/.test(error.code ?? '')
  return error instanceof Error && /^Query read timeout|not queryable$/.test(error.message)
}
