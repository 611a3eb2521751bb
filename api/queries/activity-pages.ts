import type { ReadDatabase, Statement } from './read-database.ts'
import { RECORD_FIELDS, recordsJson } from './record-json.ts'

const PAGE_SIZE = 25

/** No history is this long: a page beyond it is empty, and 25 times it is still a bigint. */
const LAST_PAGE = 10n ** 15n

/**
 * Positions have no gaps, so a page is a range of them and costs the same wherever it lies. The limit says nothing
 * new: it tells the planner, which cannot know how wide the range is, that walking the index is cheap.
 */
export const HISTORY_PAGE: Statement = {
  name: 'history-page',
  text: `
    select '{"status":"OK","payload":[' || (
        select ${recordsJson('desc')} from (
          select ${RECORD_FIELDS} from projection.activity
          where position <= newest.position - ${PAGE_SIZE} * ($1::bigint - 1)
            and position > newest.position - ${PAGE_SIZE} * $1::bigint
          order by position desc limit ${PAGE_SIZE}
        ) as record
      ) || '],"pages":' || (newest.position + ${PAGE_SIZE - 1}) / ${PAGE_SIZE} || '}' as answer
    from (select coalesce(max(position), 0) as position from projection.activity) as newest`,
}

/** The JSON answer of one page of the history, newest first; `page` counts from 1 and may be beyond the last. */
export async function getHistoryPage(database: ReadDatabase, page: bigint): Promise<string> {
  const asked = page < LAST_PAGE ? page : LAST_PAGE
  const [row] = await database.rows<{ answer: string }>(HISTORY_PAGE, [asked.toString()])
  if (row === undefined) throw new Error('the history page has no row')
  return row.answer
}
