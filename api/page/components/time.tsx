import { exactTime, relativeTime, toMs } from '../lib/format.ts'
import { now } from '../lib/clock.ts'
import { Unknown } from './names.tsx'

/** A moment, relative to the reader's clock and exact on hover. `at` is ISO, or Unix seconds as text. */
export function Time({ at }: { at: string | null | undefined }) {
  const ms = at === null || at === undefined ? null : toMs(at)
  if (ms === null) return <Unknown />
  return (
    <time class="nowrap" dateTime={new Date(ms).toISOString()} title={exactTime(ms)}>
      {relativeTime(ms, now.value)}
    </time>
  )
}
