import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  /** Rows per loop. */
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/**
 * Returns every plan node that reads one of these tables, from an actual run of `execute` (of a prepared statement).
 */
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

/** Counts the rows that were read, wanted or not. */
export function rowsRead(scans: readonly PlanNode[]): number {
  return scans.reduce(
    (sum, scan) => sum + (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
    0,
  )
}

/**
 * Counts rows of a read model's table that all sessions have read since its creation, as `watch` sees it. `session` is
 * a pool of one connection and first flushes its own statistics.
 */
export async function rowsReadSoFar(session: Db, watch: Db, table: string): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(session)
  const { rows } = await sql<{ read: number }>`
    select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables
    where schemaname = 'projection' and relname = ${table}`.execute(watch)
  return rows[0]?.read ?? 0
}

/** SQL of a statement's value. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `array[${value.map(literal).join()}]`
  if (value === null || typeof value === 'number') return `${value}`
  return `'${value as string}'`
}
