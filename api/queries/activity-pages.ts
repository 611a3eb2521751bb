import { VERSION_OF_ITS_ROW, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { recordsJson, recordsOf } from './record-json.ts'

const PAGE_SIZE = 25

/** No history is this long: a page beyond it is empty, and 25 times it is still a bigint. */
const LAST_PAGE = 10n ** 15n

/**
 * The newest record of the page is found by its number: which stretch of the log has it, by the counts of records before
 * each, and which place it has in there. From it the page is the next ids downwards, so that every page costs the same
 * few look-ups.
 */
export const HISTORY_PAGE: Statement = {
  name: 'history-page',
  text: `
    select '{"status":"OK","payload":[' || (
        select ${recordsJson('desc')} from (${recordsOf(
          `select * from projection.activity where id <= newest.id order by id desc limit ${PAGE_SIZE}`,
        )}) as record
      ) || '],"pages":' || (history.records + ${PAGE_SIZE - 1}) / ${PAGE_SIZE} || '}' as answer, history.version
    from (
      select records, records - ${PAGE_SIZE} * ($1::bigint - 1) as nth, ${VERSION_OF_ITS_ROW} as version
      from projection.fold_state
    ) as history
    left join lateral (${nodeOfNth(2, '0', 'history.nth')}) as top on true
    left join lateral (${nodeOfNth(1, 'top.number', 'top.nth')}) as middle on true
    left join lateral (${nodeOfNth(0, 'middle.number', 'middle.nth')}) as stretch on true
    left join projection.activity as newest on newest.stretch = stretch.number and newest.slot = stretch.nth`,
}

/** Of the parent's children the one that holds its nth record, counted from 1, and which of its own that is. */
function nodeOfNth(level: number, parent: string, nth: string): string {
  return `select number, ${nth} - before as nth from projection.activity_counts
    where level = ${level} and parent = ${parent} and before < ${nth} order by before desc limit 1`
}

/** The JSON answer of one page of the history, newest first; `page` counts from 1 and may be beyond the last. */
export async function getHistoryPage(database: ReadDatabase, page: bigint): Promise<Found> {
  const asked = page < LAST_PAGE ? page : LAST_PAGE
  const [row] = await database.rows<Found>(HISTORY_PAGE, [asked.toString()])
  if (row === undefined) throw new Error('the history page has no row')
  return row
}
