import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  /** Of each loop. */
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** Every node that reads one of these tables, as it ran when `execute` (of a prepared statement) was carried out. */
export async function scansOf(
  session: Db,
  execute: string,
  isRead: (table: string) => boolean,
): Promise<PlanNode[]> {
  const { rows } = await sql
    .raw<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`explain (analyze, format json) execute ${execute}`)
    .execute(session)
  const walk = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(walk)]
  const [plan] = rows[0]?.['QUERY PLAN'] ?? []
  const all = plan === undefined ? [] : walk(plan.Plan)
  return all.filter((node) => node['Relation Name'] !== undefined && isRead(node['Relation Name']))
}

/** Rows that were looked at, whether they were wanted or not. */
export function rowsRead(scans: readonly PlanNode[]): number {
  return scans.reduce(
    (sum, scan) => sum + (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
    0,
  )
}

/**
 * Rows of a table of the read model that all sessions have read since it was made, as `watch` sees it once `session` (a pool of one
 * connection) has told what it did.
 */
export async function rowsReadSoFar(session: Db, watch: Db, table: string): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(session)
  const { rows } = await sql<{ read: number }>`
    select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables
    where schemaname = 'projection' and relname = ${table}`.execute(watch)
  return rows[0]?.read ?? 0
}
