import DataLoader from 'dataloader'
import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { recordsJson } from './record-json.ts'

const PAGE_SIZE = 25

/** No history is this long, so a page beyond it is empty; 25 times this still fits into a bigint column. */
const LAST_PAGE = 10n ** 15n

/** Pages per statement at most, which keeps it about as fast as for one page. */
const MOST_TOGETHER = 8

/**
 * Raw SQL because this path is hot: Postgres writes the whole answer as text (record-json.ts).
 * The newest record of a page is found by its number. The counts of records before each range of the log give the
 * range, and the number within the range gives the slot. The page is the slots from there downwards, so every page
 * costs the same few look-ups.
 */
export const HISTORY_PAGES: Statement = {
  name: 'history-pages',
  text: `
    select '{"status":"OK","payload":[' || (${recordsJson(
      `select * from projection.activity where (stretch, slot) <= (newest.number, newest.nth)
       order by stretch desc, slot desc limit ${PAGE_SIZE}`,
    )}) || '],"pages":' || (history.records + ${PAGE_SIZE - 1}) / ${PAGE_SIZE} || '}' as answer, ${READ_MODEL_STATE}, page
    from (
      select page, records, records - ${PAGE_SIZE} * (page - 1) as nth
      from projection.fold_state, unnest($1::bigint[]) as asked(page)
    ) as history
    left join lateral (${nodeOfNth(2, '0', 'history.nth')}) as top on true
    left join lateral (${nodeOfNth(1, 'top.number', 'top.nth')}) as middle on true
    left join lateral (${nodeOfNth(0, 'middle.number', 'middle.nth')}) as newest on true`,
}

/** Finds the child that holds the parent's nth record, counted from 1, and the record's number within that child. */
function nodeOfNth(level: number, parent: string, nth: string): string {
  return `select number, ${nth} - before as nth from projection.activity_counts
    where level = ${level} and parent = ${parent} and before < ${nth} order by before desc limit 1`
}

/** Returns the JSON answer of one page of the history, newest first. Pages count from 1 and may lie beyond the last. */
export function historyPages(database: ReadDatabase): (page: bigint) => Promise<Found> {
  // Under load most of a statement's cost is its start and end, so pages requested together share one statement.
  const pages = new DataLoader((asked: readonly string[]) => findPages(database, asked), {
    cache: false,
    maxBatchSize: MOST_TOGETHER,
    batchScheduleFn: setImmediate,
  })
  return (page) => pages.load((page < LAST_PAGE ? page : LAST_PAGE).toString())
}

async function findPages(database: ReadDatabase, pages: readonly string[]): Promise<(Found | Error)[]> {
  const rows = await database.rows<Found & { page: string }>(HISTORY_PAGES, [pages])
  const found = new Map(rows.map((row) => [row.page, row]))
  return pages.map((page) => found.get(page) ?? new Error(`page ${page} of the history is missing`))
}
