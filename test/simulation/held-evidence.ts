import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** The reported tables, and their order. */
const TABLES = {
  'ledger.event_log': 'position',
  'ledger.ranges_read': 'network, from_number',
  'ledger.dead_letters': 'id',
  'projection.loans': 'id',
  'projection.channels': 'id',
} as const

/** Evidence for the cause of a complaint: the log, how its blocks were read, and the results; one line per row. */
export async function heldEvidence(db: Db): Promise<string> {
  const parts: string[] = []
  for (const [table, order] of Object.entries(TABLES)) {
    const { rows } = await sql<{ line: unknown }>`
      select to_jsonb(held) as line from ${sql.table(table)} held order by ${sql.raw(order)}`.execute(db)
    parts.push(`--- ${table}`, ...rows.map(({ line }) => JSON.stringify(line)))
  }
  return parts.join('\n')
}
