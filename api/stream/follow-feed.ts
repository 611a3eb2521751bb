import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseAway } from '../queries/read-database.ts'
import { isBefore, type Cursor } from '../../shared/events/record-event.ts'
import { HEARTBEAT, openingText, recordsText } from './event-text.ts'
import { changesFor, type RecordFilter } from './record-filter.ts'
import type { Page, RecordFeed } from './record-feed.ts'

const RETRY_AFTER_MS = 500

/** The state of one stream, which its reader's pace moves. */
export interface StreamProgress {
  isClosed: boolean
  /** Since when the reader has not taken what was sent, in milliseconds of the monotonic clock; undefined: it has. */
  sentMs: number | undefined
}

/**
 * Yields the text of one stream, a page at a time. Each is asked for when the reader has taken the one before, so that a
 * slow reader costs no memory: it falls behind and reads the log at its own pace. A page without a change that fits the
 * filter is its id alone, so that a client resumes behind it.
 */
export async function* followFeed(
  feed: RecordFeed,
  start: Cursor,
  progress: StreamProgress,
  filter: RecordFilter | null,
): AsyncGenerator<Buffer> {
  let at = start
  let toldFinality = 0
  yield* sent(openingText(at), progress)
  while (!progress.isClosed) {
    if (isBefore(at, feed.at)) {
      const page = await nextPage(feed, at)
      if (page === undefined) {
        yield* sent(HEARTBEAT, progress)
        await sleep(RETRY_AFTER_MS)
        continue
      }
      at = page.next
      const text = filter === null ? page.text : recordsText(changesFor(filter, page.events), page.next)
      yield* sent(text, progress)
    } else if (feed.finality.version !== toldFinality) {
      const { version, text } = feed.finality
      toldFinality = version
      if (text.length > 0) yield* sent(text, progress)
    } else {
      await feed.news()
      if (isUnchanged()) yield* sent(HEARTBEAT, progress)
    }
  }

  function isUnchanged(): boolean {
    return !isBefore(at, feed.at) && feed.finality.version === toldFinality
  }
}

/** Undefined while the database is away, or a replica is behind. */
async function nextPage(feed: RecordFeed, at: Cursor): Promise<Page | undefined> {
  try {
    return await feed.page(at)
  } catch (error) {
    if (error instanceof DatabaseAway) return undefined
    throw error
  }
}

function* sent(text: Buffer, progress: StreamProgress): Generator<Buffer> {
  progress.sentMs = performance.now()
  yield text
  progress.sentMs = undefined
}
