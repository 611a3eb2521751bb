import { randomBytes, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Role } from '../indexing-health.ts'
import { connectSession, type Db } from './connect.ts'

/** A lease that is not renewed for so long is free. */
const LEASE_MS = 15_000
const RENEWALS_PER_LEASE = 5
/** Rows of processes that ended are deleted after this time. */
const FORGOTTEN_AFTER = '1 hour'

/** This process among all that use the database. Containers may share a host name and a process id. */
export const OWN_PROCESS = randomBytes(8).toString('hex')

export interface Lease {
  /** Aborted when the lease is gone: released, not renewed in time, or lost with its session. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/**
 * Whether the holder of row `l` may still be at work: its lease has not expired and its session is there. A role that may
 * not see another role's session start gets null for it; such a session counts as there until the lease expires.
 */
const IS_HELD = `l.expires_at > clock_timestamp() and exists (
  select from pg_stat_activity a
  where a.pid = l.backend_pid and (a.backend_start is null or a.backend_start = l.backend_start))`

const TAKE = `
  insert into ledger.writer_leases as l
    (name, holder, token, backend_pid, backend_start, expires_at, taken_at, process, candidate_for)
  values ($1, $2, $3, pg_backend_pid(), $4, clock_timestamp() + $5 * interval '1 ms', clock_timestamp(), $6, $7)
  on conflict (name) do update set holder = excluded.holder, token = excluded.token,
    process = excluded.process, candidate_for = excluded.candidate_for,
    backend_pid = excluded.backend_pid, backend_start = excluded.backend_start,
    expires_at = clock_timestamp() + $5 * interval '1 ms', taken_at = excluded.taken_at
  where not (${IS_HELD})`

const RENEW = `
  update ledger.writer_leases set expires_at = clock_timestamp() + $3 * interval '1 ms'
  where name = $1 and token = $2`

/** A lease that is held now. */
export interface HeldLease {
  name: string
  /** Host and process id, for operators. */
  holder: string
  /** {@link OWN_PROCESS} of the holder. */
  process: string
  /** Leases that the holder may take; empty unless this lease registers a process. */
  candidateFor: string[]
}

export async function getHeldLeases(db: Db): Promise<HeldLease[]> {
  const { rows } = await sql<HeldLease>`
    select l.name, l.holder, l.process, l.candidate_for as "candidateFor"
    from ledger.writer_leases l where ${sql.raw(IS_HELD)}`.execute(db)
  return rows
}

/** The host and process id of a lease's holder; undefined when it is free. */
export async function findHolder(db: Db, name: string): Promise<string | undefined> {
  return (await getHeldLeases(db)).find((lease) => lease.name === name)?.holder
}

/** The lease under which one process reads or writes a network. */
export function roleLease(role: Role, network: string): string {
  return `${role} of ${network}`
}

interface LeaseOptions {
  leaseMs?: number
  process?: string
  candidateFor?: readonly string[]
}

/**
 * Registers a process for as long as the lease is held, so that the networks are spread over all processes. `candidateFor`
 * names the leases that it may take.
 */
export async function registerProcess(
  db: Db,
  url: string,
  candidateFor: readonly string[],
  process = OWN_PROCESS,
): Promise<Lease | undefined> {
  await sql`delete from ledger.writer_leases
    where candidate_for <> '{}' and expires_at < clock_timestamp() - ${sql.lit(FORGOTTEN_AFTER)}::interval`.execute(
    db,
  )
  return takeLease(url, `process ${process}`, { process, candidateFor })
}

/**
 * Takes a lease on a session of its own; undefined when another process holds it. The lease ends with its session, and when
 * it was not renewed for `leaseMs`, so a killed holder is replaced at once and a frozen one after that time. Only roles
 * that may write ledger.writer_leases can take part; advisory locks play no role.
 */
export async function takeLease(
  url: string,
  name: string,
  { leaseMs = LEASE_MS, process: owner = OWN_PROCESS, candidateFor = [] }: LeaseOptions = {},
): Promise<Lease | undefined> {
  const client = await connectSession(url, `loan-activity lease ${name}`)
  try {
    const token = randomUUID()
    const started = await sessionStart(client)
    const askedAtMs = performance.now()
    const me = `${hostname()}, process ${process.pid}`
    const { rowCount } = await client.query(TAKE, [name, me, token, started, leaseMs, owner, candidateFor])
    if (rowCount === 1) return hold(client, { name, token, leaseMs, askedAtMs })
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  await client.end()
  return undefined
}

/**
 * Asked in a statement of its own: Postgres keeps one picture of pg_stat_activity for a transaction, and the statement that
 * takes the lease must see the sessions of candidates that it waited for. Text keeps the microseconds.
 */
async function sessionStart(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ started: string }>(
    'select backend_start::text as started from pg_stat_activity where pid = pg_backend_pid()',
  )
  const [row] = rows
  if (row === undefined) throw new Error('this session is not in pg_stat_activity')
  return row.started
}

interface Held {
  name: string
  token: string
  leaseMs: number
  /** When the last renewal that succeeded was sent; milliseconds of the monotonic clock. */
  askedAtMs: number
}

function hold(client: pg.Client, held: Held): Lease {
  const { name, token, leaseMs } = held
  const lost = new AbortController()
  const lose = (): void => {
    clearInterval(renewing)
    lost.abort()
    // A session that is of no use may not answer either: its end is not waited for.
    client.end().catch(() => undefined)
  }
  let isAsking = false
  const renew = async (): Promise<void> => {
    const askedAtMs = performance.now()
    if (askedAtMs - held.askedAtMs > leaseMs) lose()
    if (isAsking || lost.signal.aborted) return
    isAsking = true
    const { rowCount } = await client.query(RENEW, [name, token, leaseMs])
    isAsking = false
    if (rowCount === 1) held.askedAtMs = askedAtMs
    else lose()
  }
  const renewing = setInterval(() => void renew().catch(lose), leaseMs / RENEWALS_PER_LEASE)
  client.on('end', lose)
  client.on('error', lose)
  return {
    lost: lost.signal,
    // The lease is free once its session has ended: the row need not change.
    release: async () => {
      clearInterval(renewing)
      await client.end()
      lost.abort()
    },
  }
}
