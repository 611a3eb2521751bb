import { messageOf, RetryableError } from '../../shared/errors.ts'
import { ABORTED, unlessAborted } from '../../shared/async/abort.ts'
import { pause } from '../../shared/async/pause.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { Backoff } from './backoff.ts'
import { ChainMoved } from './chain-moved.ts'
import type { ChainSource, ResumePoint } from './chain-source.ts'
import type { FollowOptions } from './follow-options.ts'
import { Aborted, Follower } from './follower.ts'

/** No longer than an endpoint is put aside, so that the index catches up soon after it recovers. */
const LONGEST_PAUSE_MS = 5_000
const FIRST_PAUSE_MS = 200
/** The chain often moves during a read; this many moves in a row indicate a problem. */
const MOVES_WORTH_TELLING = 5

/**
 * Yields the source's blocks as steps, each continuing the one before. Final blocks come first, in parallel ranges;
 * then the tip, verified by parent hashes; then reorgs and finality. Retries a RetryableError and throws every other
 * error, such as a PermanentError.
 */
export async function* followChain(
  source: ChainSource,
  resume: ResumePoint,
  options: FollowOptions,
): AsyncGenerator<ChainStep> {
  const { signal } = options
  const follower = new Follower(source, resume, options)
  const backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
  const ticking = new AbortController()
  const stop = (): void => ticking.abort()
  signal.addEventListener('abort', stop, { once: true })
  const ticks = source.headTicks(ticking.signal)[Symbol.asyncIterator]()
  const { mostFailures = Infinity } = options
  let moves = 0
  let failures = 0
  try {
    while (!signal.aborted) {
      try {
        for await (const step of follower.catchUp()) {
          yield step
          backoff.reset()
          moves = failures = 0
          // Finality alone is no success: the blocks after it may still fail.
          if (step.type !== 'finalized') options.onRead?.()
        }
        backoff.reset()
        moves = failures = 0
        options.onRead?.()
        const tick = await unlessAborted(ticks.next(), signal)
        if (tick === ABORTED || tick.done === true) return
      } catch (error) {
        if (error instanceof Aborted || ticking.signal.aborted) return
        failures += 1
        if (!(error instanceof RetryableError) || failures >= mostFailures) throw error
        moves = error instanceof ChainMoved ? moves + 1 : MOVES_WORTH_TELLING
        if (moves >= MOVES_WORTH_TELLING) options.onProblem?.(`${source.network}: ${messageOf(error)}`, error)
        await pause(backoff.nextMs(), signal)
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    // Closes the sockets of the ticks, which nothing else closes after the last tick.
    await ticks.return?.()
  }
}
