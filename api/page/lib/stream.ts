import type { ActivityRecord } from '../../../client/index.ts'
import { client } from './api.ts'

export interface Feed {
  onRecord: (record: ActivityRecord) => void
  /** `retracted` is a record that is gone, `changed` one that says other than before. */
  onChange: (kind: 'changed' | 'retracted', record: ActivityRecord) => void
  /** True while events arrive. The reader polls meanwhile, if not. */
  onOpen: (isOpen: boolean) => void
  /** The stream is open again, and what changed before is not known. */
  onGap: () => void
}

const REOPEN_MS = 5000

/**
 * Follows the history's changes from now on. The browser connects again by itself and misses nothing; after a refusal
 * the page does, from the last event. `from` is that event's id, empty where none came, undefined at first.
 */
export function followStream(feed: Feed, stop: AbortSignal, from?: string): void {
  let last = from ?? ''
  const address = `${client.getConfig().baseUrl ?? ''}/api/activity/stream`
  const source = new EventSource(last === '' ? address : `${address}?lastEventId=${encodeURIComponent(last)}`)
  const over = new AbortController()
  stop.addEventListener('abort', () => source.close(), { signal: over.signal })
  const read = (event: MessageEvent): ActivityRecord => {
    last = event.lastEventId
    return JSON.parse(String(event.data)) as ActivityRecord
  }
  source.addEventListener('open', () => {
    feed.onOpen(true)
    if (from === '') feed.onGap()
    from = undefined
  })
  source.addEventListener('record', (event) => feed.onRecord(read(event)))
  for (const kind of ['changed', 'retracted'] as const)
    source.addEventListener(kind, (event) => feed.onChange(kind, read(event)))
  source.addEventListener('error', () => {
    feed.onOpen(false)
    if (source.readyState !== EventSource.CLOSED) return
    // A refusal closes it for good: too many streams, or an API without its database.
    over.abort()
    setTimeout(() => !stop.aborted && followStream(feed, stop, last), REOPEN_MS)
  })
}
