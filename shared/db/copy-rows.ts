import { CompiledQuery, sql } from 'kysely'
import { binaryRows, type Columns, type RowOf } from './binary-rows.ts'
import { CopyBytes } from './copying-client.ts'
import type { Trx } from './transaction.ts'

/**
 * Adds a row for each item, by the item and its index, to a table. Takes Postgres less than half of what the same rows cost as JSON: no
 * document is taken apart, nor any text of numbers and times. A row is made when those before it are on their way, and Postgres
 * copies them meanwhile; here it lives no longer than that takes: thousands of them at once would be copied by each collection of
 * garbage.
 */
export async function copyRows<T, const C extends Columns>(
  trx: Trx,
  table: string,
  columns: C,
  items: readonly T[],
  rowOf: (item: T, index: number) => RowOf<C>,
): Promise<void> {
  if (items.length === 0) return
  const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)))
  const { sql: text } = sql`copy ${sql.table(table)} (${names}) from stdin (format binary)`.compile(trx)
  await trx.executeQuery(CompiledQuery.raw(text, [new CopyBytes(binaryRows(columns, items, rowOf))]))
}
