import { sql } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import { unnest } from '../../../shared/db/unnest.ts'
import type { FoldContext } from '../projection.ts'

/** The lists of one loan before a segment, and after each of its steps. */
export interface ListChange {
  /** The loan's own id. */
  id: number
  before: string[]
  after: { lists: string[]; position: number }[]
}

const ENDED = { list: 'text', id: 'bigint', until: 'bigint' } as const

type Entry = Record<'list', string> & Record<'id' | 'since', number>
type PastEntry = Entry & Record<'until', number>

/** Writes what differs. Most changes of a loan change no list but that of its state. */
export async function putLists({ trx, schema }: FoldContext, changes: ListChange[]): Promise<void> {
  const moves = changes.map(movesOf)
  const ended = moves.flatMap((one) => one.ended)
  if (ended.length > 0) {
    // LIMIT forces one key look-up per entry: a table without statistics would be scanned.
    await sql`
      with gone as (
        delete from ${sql.table(`${schema}.loan_lists`)} where ctid = any(array(
          select entry.place from ${unnest('ended', ENDED, ended)} cross join lateral (
            select ctid as place from ${sql.table(`${schema}.loan_lists`)} as one
            where one.list = ended.list and one.id = ended.id limit 1
          ) as entry)) returning list, id, since
      )
      insert into ${sql.table(`${schema}.loan_lists_past`)} (list, id, since, until)
      select list, id, since, until from gone join ${unnest('ended', ENDED, ended)} using (list, id)`.execute(
      trx,
    )
  }
  await copyRows(
    trx,
    `${schema}.loan_lists_past`,
    moves.flatMap((one) => one.passed),
  )
  await copyRows(
    trx,
    `${schema}.loan_lists`,
    moves.flatMap((one) => one.joined),
  )
}

interface Moves {
  /** Stored entries that the loan left. */
  ended: Omit<PastEntry, 'since'>[]
  /** Entries that began and ended within the segment. */
  passed: PastEntry[]
  joined: Entry[]
}

function movesOf({ id, before, after }: ListChange): Moves {
  const moves: Moves = { ended: [], passed: [], joined: [] }
  let last = before
  for (const { lists, position } of after) {
    for (const list of last.filter((one) => !lists.includes(one))) {
      const index = moves.joined.findIndex((entry) => entry.list === list)
      const [fresh] = index === -1 ? [] : moves.joined.splice(index, 1)
      if (fresh === undefined) moves.ended.push({ list, id, until: position })
      else moves.passed.push({ ...fresh, until: position })
    }
    for (const list of lists) if (!last.includes(list)) moves.joined.push({ list, id, since: position })
    last = lists
  }
  return moves
}
