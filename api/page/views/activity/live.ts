import { signal, type Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { searchActivity, type ActivityRecord, type SearchActivityData } from '../../../../client/index.ts'
import { ask } from '../../lib/api.ts'
import { followStream } from '../../lib/stream.ts'
import { pause } from '../../lib/use-answer.ts'

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
  changes: Signal<ReadonlyMap<number, ActivityRecord | null>>
}

/**
 * Collects records newer than `newest` that fit the filters. The stream says when to ask, so that one question has one
 * meaning whatever its filters; without a stream the page asks every few seconds. Null collects nothing.
 */
export function useLive(key: string, newest: number | null, filters: ActivityQuery): Live {
  const [live] = useState<Live>(() => ({ pending: signal([]), changes: signal(new Map()) }))
  useEffect(() => {
    live.pending.value = []
    live.changes.value = new Map()
    if (newest === null) return
    const stopped = new AbortController()
    void collect(live, newest, filters, stopped.signal)
    return () => stopped.abort()
  }, [key, newest])
  return live
}

async function collect(
  { pending, changes }: Live,
  newest: number,
  filters: ActivityQuery,
  stop: AbortSignal,
): Promise<void> {
  const stream = { isOpen: false }
  let wake = (): void => undefined
  followStream(
    {
      onRecord: () => wake(),
      onChange: (kind, record) => {
        pending.value = pending.value.filter(({ id }) => id !== record.id)
        const next = new Map(changes.value).set(record.id, kind === 'retracted' ? null : record)
        // The oldest go first, so that a page open for weeks stays small.
        if (next.size > MOST_PENDING) next.delete([...next.keys()][0] ?? 0)
        changes.value = next
      },
      onOpen: (opened) => {
        stream.isOpen = opened
        if (opened) wake()
      },
    },
    stop,
  )
  let after = newest
  while (!stop.aborted) {
    await pause(LEAST_MS, stop)
    try {
      const query = { ...filters, after: String(after), limit: String(MOST_PENDING) }
      const { payload } = (await ask((options) => searchActivity({ ...options, query }), stop)).data
      const last = payload.at(-1)
      if (last !== undefined) {
        after = last.id
        pending.value = [...payload.toReversed(), ...pending.value].slice(0, MOST_PENDING)
        if (payload.length === MOST_PENDING) continue
      }
    } catch {
      // The stream or the next round asks again; the page says that the API is away.
    }
    const woken = new Promise<void>((resolve) => (wake = resolve))
    await Promise.race([
      woken,
      stream.isOpen ? new Promise(() => undefined) : pause(POLL_MS, stop),
      aborted(stop),
    ])
  }
}

function aborted(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }))
}
