import type { ActivityRecord } from '../../../client/index.ts'
import { client } from './api.ts'

export interface Feed {
  onRecord: (record: ActivityRecord) => void
  /** `retracted` is a record that is gone, `changed` one that says other than before. */
  onChange: (kind: 'changed' | 'retracted', record: ActivityRecord) => void
  /** True while events arrive. The reader polls meanwhile, if not. */
  onOpen: (isOpen: boolean) => void
}

const REOPEN_MS = 5000

/** Follows the history's changes from now on. The browser connects again by itself and misses nothing. */
export function followStream({ onRecord, onChange, onOpen }: Feed, stop: AbortSignal): void {
  const source = new EventSource(`${client.getConfig().baseUrl ?? ''}/api/activity/stream`)
  const read = (event: MessageEvent): ActivityRecord => JSON.parse(String(event.data)) as ActivityRecord
  source.addEventListener('open', () => onOpen(true))
  source.addEventListener('record', (event) => onRecord(read(event)))
  for (const kind of ['changed', 'retracted'] as const)
    source.addEventListener(kind, (event) => onChange(kind, read(event)))
  source.addEventListener('error', () => {
    onOpen(false)
    // A refusal closes it for good: too many streams, or an API without its database.
    if (source.readyState === EventSource.CLOSED)
      setTimeout(() => !stop.aborted && followStream({ onRecord, onChange, onOpen }, stop), REOPEN_MS)
  })
  stop.addEventListener('abort', () => source.close(), { once: true })
}
