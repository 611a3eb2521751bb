import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { getHeldLeases, roleLease } from '../../shared/db/leases.ts'
import { DATABASE_FIGURES, type DatabaseFigures } from '../../shared/db/database-figures.ts'
import { NETWORK_ROWS } from '../../shared/db/network-rows.ts'
import type { NetworkStatusTable } from '../../shared/db/schema.ts'
import type { NetworkRow, Role, RoleReport } from '../../shared/indexing-health.ts'

/**
 * Stores how this process sees its networks, a row for each role. `unlessToldForMs` limits this to rows without any report in
 * that many milliseconds.
 */
export async function putNetworkStatus(
  db: Db,
  rows: Omit<NetworkStatusTable, 'observed_at'>[],
  { unlessToldForMs = null }: { unlessToldForMs?: number | null } = {},
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const changed = [...Object.keys(first), 'observed_at'] as (keyof NetworkStatusTable)[]
  const isSilent =
    unlessToldForMs === null
      ? sql<boolean>`true`
      : sql<boolean>`network_status.observed_at not between clock_timestamp() - ${unlessToldForMs} * interval '1 ms' and clock_timestamp()`
  await db
    .insertInto('ledger.network_status')
    .values(rows.map((row) => ({ ...row, observed_at: sql<Date>`clock_timestamp()` })))
    .onConflict((conflict) =>
      conflict
        .columns(['network', 'role'])
        .doUpdateSet((eb) => Object.fromEntries(changed.map((name) => [name, eb.ref(`excluded.${name}`)])))
        .where(isSilent),
    )
    .execute()
}

/** Rejects if the database is unreachable. */
export async function askDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/**
 * Deletes networks that are no longer configured, so that they do not block readiness forever. A network qualifies if
 * it was reported along with a `configured` one, or not at all for an hour. Networks of another indexer stay, even if
 * it is briefly away.
 */
export async function forgetOtherNetworks(db: Db, configured: string[]): Promise<void> {
  await sql`
    delete from ledger.network_status
    where network <> all(${configured}::text[])
      and (told_with && ${configured}::text[] or observed_at < clock_timestamp() - interval '1 hour')`.execute(
    db,
  )
}

/** The figures that every program exports. */
export async function getFigures(db: Db): Promise<DatabaseFigures> {
  const { rows } = await sql<DatabaseFigures>`${sql.raw(DATABASE_FIGURES)}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the figures have no row')
  return row
}

export interface Status {
  records: number
  lastPosition: number
  networks: (NetworkRow & { holders: Record<Role, string | null> })[]
}

/** The stored state of every network that was ever indexed. Cheap: no table is counted. */
export async function getStatus(db: Db): Promise<Status> {
  const total = await db
    .selectFrom(['projection.fold_state', 'ledger.log_head'])
    .select(['records', 'last_position as lastPosition'])
    .executeTakeFirstOrThrow()
  const { rows } = await sql<NetworkRow>`${sql.raw(NETWORK_ROWS)} order by network`.execute(db)
  const leases = new Map((await getHeldLeases(db)).map(({ name, holder }) => [name, holder]))
  const holderOf = (role: Role, network: string): string | null =>
    leases.get(roleLease(role, network)) ?? null
  return {
    ...total,
    networks: rows.map((row) => {
      const { network } = row
      const holders = { reader: holderOf('reader', network), writer: holderOf('writer', network) }
      const [reader, writer] = [held(row.reader, holders.reader), held(row.writer, holders.writer)]
      return { ...row, reader, writer, holders }
    }),
  }
}

function held(report: RoleReport | null, holder: string | null): RoleReport | null {
  return report === null ? null : { ...report, isHeld: holder !== null }
}
