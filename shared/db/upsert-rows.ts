import { sql } from 'kysely'
import type { Trx } from './transaction.ts'

/**
 * Inserts rows, or updates the stored ones with the same key, except for the columns `kept`. All rows must have the
 * columns of the first; values are JSON. Plain SQL: one parameter holds any number of rows. ON CONFLICT looks up each row
 * by its key, but an UPDATE would scan a table that has no statistics yet. `json` keeps the order of a value's fields.
 */
export async function upsertRows(
  trx: Trx,
  table: string,
  { key, kept }: { key: readonly string[]; kept: readonly string[] },
  rows: readonly object[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  if (columns.length === 0) return
  const list = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)))
  const changed = columns.filter((name) => !key.includes(name) && !kept.includes(name))
  const updates = changed.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`)
  await sql`
    insert into ${sql.table(table)} (${list(columns)})
    select ${list(columns)} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::json)
    on conflict (${list(key)}) do update set ${sql.join(updates)}`.execute(trx)
}
