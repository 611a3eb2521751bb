/** (pure) Distances in time as short text. Moments are Unix milliseconds. */
import { formatDuration } from '../../lib/format.ts'

/** `in 59 min` before the moment, never `in 0 s`; `59 min ago` after it. */
export function countdown(at: number, now: number): string {
  return at > now
    ? `in ${formatDuration(Math.ceil((at - now) / 1000))}`
    : `${formatDuration((now - at) / 1000)} ago`
}

/**
 * The present by a chain's clock. A devnet's clock can be ahead of the reader's; one that is behind is only an index
 * that lags, and the reader's clock is right. `seenAt` is when the reader received `basis`.
 */
export function chainNow(basis: number | null, seenAt: number, now: number): number {
  return basis === null ? now : Math.max(now, basis + (now - seenAt))
}
