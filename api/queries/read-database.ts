import { setImmediate } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from '../../shared/db/connect.ts'
import { reading, settleTransaction } from '../../shared/db/session.ts'
import { SessionClient } from '../../shared/db/session-client.ts'
import { SteadyClient } from '../../shared/db/steady-client.ts'
import { isDatabaseRetryable, losesSession } from '../../shared/db/failures.ts'
import type { Tables } from '../../shared/db/schema.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'
import type { Statement } from './statement.ts'
import { watchForStalls, type StallWatch } from './stalls.ts'

export type { Statement } from './statement.ts'

export interface ReadDatabase {
  /** Runs one statement and returns its rows. Throws {@link DatabaseAway} when the database cannot answer now. */
  rows: <Row extends object>(statement: Statement, values?: unknown[]) => Promise<Row[]>
  /**
   * Begins a transaction in which all statements see one moment; it takes a connection until it is closed. Throws {@link
   * DatabaseAway} as `rows` does.
   */
  openSnapshot: () => Promise<Snapshot>
  /** Connections at most. */
  connections: number
  /** Calls the listener after a lost connection or a time-out, because another server may answer next. */
  onLoss: (listener: () => void) => void
  /** The same connections, as the schema check needs them. */
  db: Db
  close: () => Promise<void>
}

/** The database is away or too slow; a retry later may succeed. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
}

/** The API's database connections at most. */
export const CONNECTIONS = 10

/**
 * A request is one statement of a few index look-ups, or part of one, so these time-outs are generous. Together they
 * bound the answer to two seconds when the database is frozen or unreachable.
 */
const CONNECT_TIMEOUT_MS = 1500
const STATEMENT_TIMEOUT_MS = 1500
/** Covers a server that does not keep its own time-out. */
const ANSWER_TIMEOUT_MS = 1800

/**
 * A new connection is slow at first: it plans each statement and touches each page of shared memory for the first time
 * (docs/performance.md). It therefore survives a lull, and keepalives show proxies between that it is alive.
 */
const KEPT_IDLE_MS = 5 * 60_000
const KEEP_ALIVE_MS = 30_000

/**
 * Each statement leaves Postgres one usable index for any values, so a generic plan serves. A single page would
 * otherwise be planned anew each time, which costs more than the page. A plan stays in use while its tables grow, so it
 * must not suit empty tables only. JIT compilation would take longer than any answer, so row estimates must not start
 * it.
 */
const PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' }
const SESSION = reading({ ...PLANS, statement_timeout: String(STATEMENT_TIMEOUT_MS) })

/** Between two statements of a snapshot its reader takes up to a megabyte. */
const READER_TIMEOUT_MS = 60_000
const SNAPSHOT = reading({
  ...SESSION.settings,
  idle_in_transaction_session_timeout: String(READER_TIMEOUT_MS),
})
const BEGIN_SNAPSHOT = `begin isolation level repeatable read read only; ${settleTransaction(SNAPSHOT)}`

/**
 * `sharesSessions`: a pooler gives each transaction another session, so no statement or setting can last for a session.
 * Each statement then is a transaction that begins with its settings, sent in one message.
 */
export function openReadDatabase(
  url: string,
  options: { connections?: number; sharesSessions?: boolean; onError: (error: Error) => void },
): ReadDatabase {
  const connections = options.connections ?? CONNECTIONS
  const isPrepared = options.sharesSessions !== true
  const pool = new pg.Pool({
    ...(options.sharesSessions === true
      ? { Client: SteadyClient, pipeline: true }
      : { Client: SessionClient, session: SESSION }),
    connectionString: url,
    application_name: 'loan-activity api',
    max: connections,
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
  // The process would end without a listener when the server closes an idle connection.
  pool.on('error', (error) => {
    lose()
    options.onError(error)
  })
  const stalls = watchForStalls()
  const asker = options.sharesSessions === true ? askInTransaction : askPrepared
  return {
    rows: async (statement, values = []) => {
      try {
        return await askPatiently(asker, pool, { stalls, lose }, statement, values)
      } catch (error) {
        if (error instanceof DatabaseAway) lose()
        throw error
      }
    },
    openSnapshot: async () => {
      const { rows, close } = await namingAway(openSnapshot(pool, { begin: BEGIN_SNAPSHOT, isPrepared }))
      return { rows: (statement, values) => namingAway(rows(statement, values)), close }
    },
    connections,
    onLoss: (listener) => void losses.push(listener),
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    close: () => {
      stalls.stop()
      return pool.end()
    },
  }
}

/** A session that was lost later leaves no time to ask again. */
const SOON_MS = 500

/**
 * Retries once when this process itself stood still, since the database may be well, and when the session was lost soon:
 * another server may answer.
 */
async function askPatiently<Row extends object>(
  asker: Asker,
  pool: pg.Pool,
  { stalls, lose }: { stalls: StallWatch; lose: () => void },
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  const askedMs = performance.now()
  try {
    return await ask<Row>(asker, pool, statement, values)
  } catch (error) {
    if (!(error instanceof DatabaseAway)) throw error
    const isLostSoon = losesSession(error.cause) && performance.now() - askedMs < SOON_MS
    if (!isLostSoon && stalls.lastEndedMs < askedMs) throw error
    lose()
    // The pool learns first of other sessions that were lost in the same moment.
    await setImmediate()
    return ask<Row>(asker, pool, statement, values)
  }
}

/**
 * Runs one statement without a transaction. `replay` switches to new tables by renaming schemas. Postgres then resolves
 * the names of a prepared statement again, so a statement sees either the old tables or the new ones.
 */
async function ask<Row extends object>(
  asker: Asker,
  pool: pg.Pool,
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  return namingAway(asker<Row>(pool, statement, values))
}

async function namingAway<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
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

/** Covers retryable errors, a password or database changed during operation, and time-outs. */
function isAway(error: unknown): boolean {
  if (isDatabaseRetryable(error)) return true
  if (error instanceof pg.DatabaseError) return /^(28|3D000|57014)/.test(error.code ?? '')
  return error instanceof Error && /^Query read timeout|not queryable$/.test(error.message)
}
