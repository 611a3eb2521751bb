import { signal, type Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { searchActivity, type ActivityRecord, type SearchActivityData } from '../../../../client/index.ts'
import { ask } from '../../lib/api.ts'
import { followStream } from '../../lib/stream.ts'
import { pause } from '../../lib/use-answer.ts'
import { changed, type Changes } from './pages.ts'

export type ActivityQuery = NonNullable<SearchActivityData['query']>

/** New records that are kept until the reader asks for them. More are counted as this many and a plus. */
export const MOST_PENDING = 200
/** Milliseconds between questions while the stream is closed, and the least between two while it is open. */
const POLL_MS = 5000
const LEAST_MS = 1000

export interface Live {
  /** Newest first. */
  pending: Signal<ActivityRecord[]>
  /** Records that a reorg took away or changed since they were shown, by id. */
  changes: Signal<Changes>
}

/**
 * Collects records newer than `newest` that fit the filters. The stream says when to ask, so that one question has one
 * meaning whatever its filters; without a stream the page asks every few seconds. Null collects nothing. `again` is called
 * where changes can have been missed.
 */
export function useLive(newest: number | null, filters: ActivityQuery, again: () => void): Live {
  const [live] = useState<Live>(() => ({ pending: signal([]), changes: signal(new Map()) }))
  useEffect(() => {
    live.pending.value = []
    live.changes.value = new Map()
    if (newest === null) return
    const stopped = new AbortController()
    void collect(live, newest, filters, again, stopped.signal)
    return () => stopped.abort()
  }, [newest])
  return live
}

async function collect(
  { pending, changes }: Live,
  newest: number,
  filters: ActivityQuery,
  again: () => void,
  stop: AbortSignal,
): Promise<void> {
  const stream = { isOpen: false }
  let wake = (): void => undefined
  followStream(
    {
      onRecord: () => wake(),
      onChange: (kind, record) => {
        const next = new Map(changes.value).set(record.id, kind === 'retracted' ? null : record)
        pending.value = changed(pending.value, next)
        // The oldest go first, so that a page open for weeks stays small.
        if (next.size > MOST_PENDING) next.delete([...next.keys()][0] ?? 0)
        changes.value = next
      },
      onOpen: (opened) => {
        stream.isOpen = opened
        if (opened) wake()
      },
      onGap: again,
    },
    stop,
  )
  stop.addEventListener('abort', () => wake(), { once: true })
  let after = newest
  while (!stop.aborted) {
    await pause(LEAST_MS, stop)
    // From before the question, so that what comes during it is asked for too.
    const woken = new Promise<void>((resolve) => (wake = resolve))
    let hasFailed = false
    try {
      const query = { ...filters, after: String(after), limit: String(MOST_PENDING) }
      const { payload, next } = (await ask((options) => searchActivity({ ...options, query }), stop)).data
      after = next ?? payload.at(-1)?.id ?? after
      if (payload.length > 0)
        pending.value = [...payload.toReversed(), ...pending.value].slice(0, MOST_PENDING)
      if (next !== null) continue
    } catch {
      // The next round asks again; the page says that the API is away.
      hasFailed = true
    }
    await (stream.isOpen && !hasFailed ? woken : Promise.race([woken, pause(POLL_MS, stop)]))
  }
}
