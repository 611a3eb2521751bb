import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from '../../shared/db/connect.ts'
import { isDatabaseRetryable } from '../../shared/db/transaction.ts'
import type { Tables } from '../../shared/db/schema.ts'

/** One SQL statement that each connection prepares once, under its name. */
export interface Statement {
  name: string
  text: string
}

export interface ReadDatabase {
  /** Runs one statement and returns its rows. Throws {@link DatabaseAway} when no answer is to be had now. */
  rows: <Row extends object>(statement: Statement, values?: unknown[]) => Promise<Row[]>
  /** The same connections, as the schema check wants them. */
  db: Db
  close: () => Promise<void>
}

/** The database is away, or too slow to wait for: asking again later may help. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
}

/**
 * Every request is one statement of a few index look-ups, so these are generous. Together they keep the answer of
 * a database that is frozen or unreachable within two seconds.
 */
const CONNECT_TIMEOUT_MS = 1500
const STATEMENT_TIMEOUT_MS = 1500
/** For a server that does not even keep its own time-out. */
const ANSWER_TIMEOUT_MS = 1800

export function openReadDatabase(
  url: string,
  options: { connections?: number; onError: (error: Error) => void },
): ReadDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'loan-activity api',
    max: options.connections ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  })
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', options.onError)
  return {
    rows: (statement, values = []) => ask(pool, statement, values),
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    close: () => pool.end(),
  }
}

/**
 * `replay` switches to new tables by renaming schemas, and a replica cancels what stands in the way of a change: a
 * statement that met that very moment finds everything in place when it is sent again.
 */
const SWITCHED = /^(42P01|3F000|40001)$/
const SWITCHED_MESSAGE = /cache lookup failed|could not open relation/
const ATTEMPTS = 3

async function ask<Row extends object>(
  pool: pg.Pool,
  { name, text }: Statement,
  values: unknown[],
): Promise<Row[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await pool.query<Row>({ name, text, values })).rows
    } catch (error) {
      if (attempt < ATTEMPTS && metSwitch(error)) await sleep(10 * attempt)
      else if (isAway(error)) throw new DatabaseAway('the database does not answer', { cause: error })
      else throw error
    }
  }
}

function metSwitch(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  return SWITCHED.test(error.code ?? '') || SWITCHED_MESSAGE.test(error.message)
}

/** Beside what may be tried again: the password or the database changed under us, or a time-out was reached. */
function isAway(error: unknown): boolean {
  if (isDatabaseRetryable(error)) return true
  if (error instanceof pg.DatabaseError) return /^(28|3D000|57014)/.test(error.code ?? '')
  return error instanceof Error && /^Query read timeout|not queryable$/.test(error.message)
}
