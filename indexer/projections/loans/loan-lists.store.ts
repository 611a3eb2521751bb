import { sql } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import { unnest } from '../../../shared/db/unnest.ts'
import type { FoldContext } from '../projection.ts'

/** The lists of one loan, before and after a segment. */
export interface ListChange {
  /** The loan's own id. */
  id: number
  before: string[]
  after: string[]
}

const ENTRY = { list: 'text', id: 'bigint' } as const

/** Writes what differs. Most changes of a loan change no list but that of its state. */
export async function putLists({ trx, schema }: FoldContext, changes: ListChange[]): Promise<void> {
  const left = changes.flatMap(({ id, before, after }) => entriesOf(id, before, after))
  const joined = changes.flatMap(({ id, before, after }) => entriesOf(id, after, before))
  if (left.length > 0) {
    // LIMIT forces one key look-up per entry: a table without statistics would be scanned.
    await sql`
      delete from ${sql.table(`${schema}.loan_lists`)} where ctid = any(array(
        select entry.place from ${unnest('gone', ENTRY, left)} cross join lateral (
          select ctid as place from ${sql.table(`${schema}.loan_lists`)} as one
          where one.list = gone.list and one.id = gone.id limit 1
        ) as entry))`.execute(trx)
  }
  await copyRows(trx, `${schema}.loan_lists`, joined)
}

/** The entries of `lists` that `others` lack. */
function entriesOf(id: number, lists: string[], others: string[]): { list: string; id: number }[] {
  return lists.filter((list) => !others.includes(list)).map((list) => ({ list, id }))
}
