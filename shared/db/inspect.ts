import { sql } from 'kysely'
import { ConfigError } from '../errors.ts'
import type { Db } from './connect.ts'
import { sqlState } from './failures.ts'
import { SteadyClient } from './steady-client.ts'

export interface DatabaseFacts {
  /** Whether a pooler gives each transaction another session (PgBouncer: pool_mode transaction or statement). */
  sharesSessions: boolean
  /** Connections that this role may have: the smallest of the role's, the database's and the server's limits. */
  limit: number
  /** The owner of that limit, for operators. */
  limitOf: string
  /** Connections that are free now under all limits. */
  free: number
}

const CONNECT_TIMEOUT_MS = 5_000
/** Repeats the check: a pooler that shares sessions may give one client the same session twice by chance. */
const ROUNDS = 3

/**
 * Inspects the connection to a database before anything depends on it: bare sessions, no settings. Rejects if it cannot
 * be reached, and with a ConfigError if a pooler allows no transactions.
 */
export async function inspectDatabase(url: string, variable: string): Promise<DatabaseFacts> {
  const [first, second] = [bareClient(url), bareClient(url)]
  try {
    await first.connect()
    await second.connect()
    const limits = await findLimits(first)
    return { sharesSessions: await sharesSessions(first, second, variable), ...limits }
  } finally {
    await Promise.allSettled([first.end(), second.end()])
  }
}

/** Throws a one-line ConfigError if sessions are shared. */
export function requireOwnSessions({ sharesSessions }: DatabaseFacts): void {
  if (!sharesSessions) return
  throw new ConfigError(
    'DATABASE_URL leads to a pooler that shares sessions between transactions, but leases and LISTEN need sessions of their own: ' +
      'name the database itself, or a pooler in session mode (PgBouncer: pool_mode = session)',
  )
}

/** What takes no writes; null where they are taken. */
export async function findReadOnlyReason(db: Db): Promise<string | null> {
  const { rows } = await sql<{ isStandby: boolean; isReadOnly: boolean }>`
    select pg_is_in_recovery() as "isStandby",
      current_setting('default_transaction_read_only') = 'on' as "isReadOnly"`.execute(db)
  if (rows[0]?.isStandby === true) return 'a replica'
  return rows[0]?.isReadOnly === true ? 'a read-only database' : null
}

/**
 * Connections for a pool: `wanted`, or fewer if the limit leaves fewer beside the `others` of this program. Throws a
 * ConfigError with the numbers if even `least` do not fit.
 */
export function poolSize(
  { limit, limitOf }: Pick<DatabaseFacts, 'limit' | 'limitOf'>,
  { variable, wanted, least, others }: { variable: string; wanted: number; least: number; others: number },
): number {
  if (limit < least + others) {
    throw new ConfigError(
      `${variable}: ${limitOf} allows ${limit} connections, and this program needs at least ${least + others} (it takes up to ${wanted + others}): raise the limit`,
    )
  }
  return Math.min(wanted, limit - others)
}

function bareClient(url: string): SteadyClient {
  return new SteadyClient({
    connectionString: url,
    application_name: 'loan-activity inspection',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
}

/** Two clients in one session, or one client in two sessions, reveal a pooler. */
async function sharesSessions(one: SteadyClient, other: SteadyClient, variable: string): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await sessionOf(one)
    try {
      await other.query('begin')
    } catch (error) {
      if (sqlState(error) !== '08P01') throw error
      throw new ConfigError(
        `${variable} leads to a pooler that allows no transactions: use another mode (PgBouncer: pool_mode = session)`,
      )
    }
    try {
      // The second query would wait forever if the other transaction held the only session of a pool.
      if ((await sessionOf(other)) === before || (await sessionOf(one)) !== before) return true
    } finally {
      await other.query('rollback')
    }
  }
  return false
}

async function sessionOf(client: SteadyClient): Promise<string> {
  const { rows } = await client.query<{ session: string }>(
    `select pg_catalog.concat(pg_catalog.pg_postmaster_start_time(), ' ', pg_catalog.pg_backend_pid()) as session`,
  )
  return rows[0]?.session ?? ''
}

interface LimitRow {
  name: string
  most: number
  used: string
}

/**
 * An ordinary role sees other roles' sessions without their kind. Superusers are under the server's limit alone, and
 * may use the reserved connections.
 */
const LIMITS = `
  with me as (select rolname, rolsuper, rolconnlimit from pg_catalog.pg_roles where rolname = session_user),
    clients as (select usename, datname from pg_catalog.pg_stat_activity
      where usename is not null and application_name is distinct from 'loan-activity inspection')
  select 'the role ' || rolname as name, rolconnlimit as most, (select count(*) from clients where usename = rolname) as used
    from me where not rolsuper and rolconnlimit >= 0
  union all
  select 'the database ' || datname, datconnlimit, (select count(*) from clients where clients.datname = d.datname)
    from pg_catalog.pg_database d, me where datname = current_database() and not rolsuper and datconnlimit >= 0
  union all
  select 'the server', current_setting('max_connections')::int
      - case when rolsuper then 0 else current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true)::int, 0) end,
    (select count(*) from clients)
    from me`

async function findLimits(client: SteadyClient): Promise<Omit<DatabaseFacts, 'sharesSessions'>> {
  const { rows } = await client.query<LimitRow>(LIMITS)
  const [least] = rows.sort((a, b) => a.most - b.most)
  if (least === undefined) throw new Error('the session has no role')
  const free = Math.min(...rows.map(({ most, used }) => most - Number(used)))
  return { limit: least.most, limitOf: least.name, free }
}
