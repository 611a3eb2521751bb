import { directionOf, type ActivitySearch } from '../queries/activity-sql.ts'
import type { Found } from '../queries/answer-cache.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import type { Snapshot } from '../queries/snapshot.ts'
import type { SearchAnswer } from '../schemas/activity.ts'
import type { ExportFormat } from './formats.ts'

/** Records of a statement. About 200 kB: one such text is held at a time. */
const PAGE_RECORDS = 500
/** A snapshot holds up vacuum and the switch of a replay. */
const MOST_MINUTES = 15

/** Reads one page of a search. */
export type Find = (database: Pick<ReadDatabase, 'rows'>, search: ActivitySearch) => Promise<Found>

/** Reads the next page of an export; the search's `limit` is the number of records that it may still have. */
export function exportPage(snapshot: Snapshot, search: ActivitySearch, find: Find): Promise<Found> {
  return find(snapshot, { ...search, limit: Math.min(search.limit, PAGE_RECORDS) })
}

/** Yields the texts of all records that match, page by page, as fast as the reader takes them. */
export async function* exportLines(
  snapshot: Snapshot,
  search: ActivitySearch,
  { first, format, find }: { first: Found; format: ExportFormat; find: Find },
): AsyncGenerator<string> {
  const endsMs = performance.now() + MOST_MINUTES * 60_000
  const cursor = directionOf(search) === 'asc' ? 'after' : 'before'
  let rest = search
  if (format.head !== '') yield format.head
  for (let page = first; ;) {
    const { payload, next } = JSON.parse(page.answer) as SearchAnswer
    rest = { ...rest, [cursor]: `${next}`, limit: rest.limit - payload.length }
    if (payload.length > 0) yield payload.map(format.line).join('')
    if (next === null || rest.limit === 0) return
    if (performance.now() > endsMs) throw new Error(`an export took longer than ${MOST_MINUTES} minutes`)
    page = await exportPage(snapshot, rest, find)
  }
}
