import { CompiledQuery, sql, type RawBuilder } from 'kysely'
import type { Db } from './connect.ts'
import { CopiedRow } from './copied-row.ts'
import { CopyTaker } from './copying-client.ts'
import type { Trx } from './transaction.ts'

/**
 * What each row of a query comes to, in their order. For thousands of rows: Postgres makes no text of numbers and times, nothing
 * is made here of what a row says like the one before, and no object stands between a row and what it comes to. `toItem` asks
 * for all fields in the order of the query. A copy has no parameters: what the query is about stands in it, as `sql.lit`.
 */
export async function readRows<T>(
  db: Db | Trx,
  query: RawBuilder<unknown>,
  toItem: (row: CopiedRow) => T,
): Promise<T[]> {
  const { sql: text, parameters } = sql`copy (${query}) to stdout (format binary)`.compile(db)
  if (parameters.length > 0) throw new Error('a copy has no parameters: what it is about is to stand in it')
  const items: T[] = []
  const row = new CopiedRow()
  const take = (message: Buffer): void => {
    if (!row.goTo(message)) return
    items.push(toItem(row))
    row.leave()
  }
  await db.executeQuery(CompiledQuery.raw(text, [new CopyTaker(take)]))
  return items
}
