import type { ChainStep } from '../../shared/events/chain-step.ts'
import { untilAborted } from '../../shared/until-aborted.ts'
import type { JobQueue } from './backend.ts'
import { addBatch } from './batch-queue.ts'

/** Steps between source and database at once: the source waits beyond that, so memory does not grow with a backlog. */
const STEPS_IN_FLIGHT = 8

/** Counts the steps that were published and are not written yet. */
export class InFlight {
  readonly #sequences = new Set<number>()
  #wake: (() => void) | undefined
  /** When the count last went down, or up from nothing; milliseconds of the monotonic clock. */
  #movedAtMs = performance.now()

  get size(): number {
    return this.#sequences.size
  }

  /** Milliseconds since something was last written, while something waits; 0 while nothing does. */
  get stuckForMs(): number {
    return this.size === 0 ? 0 : performance.now() - this.#movedAtMs
  }

  add(sequence: number): void {
    if (this.size === 0) this.#movedAtMs = performance.now()
    this.#sequences.add(sequence)
  }

  done(sequence: number): void {
    if (!this.#sequences.delete(sequence)) return
    this.#movedAtMs = performance.now()
    this.#wake?.()
  }

  async untilBelow(limit: number, signal: AbortSignal): Promise<void> {
    while (this.size >= limit && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake)
          resolve()
        }
        this.#wake = wake
        signal.addEventListener('abort', wake, { once: true })
      })
    }
  }
}

/** A source's steps become jobs, in their order. Returns when the source ends or `signal` aborts. */
export async function publishSteps(
  steps: AsyncIterable<ChainStep>,
  queue: JobQueue,
  writerEpoch: number,
  inFlight: InFlight,
  signal: AbortSignal,
): Promise<void> {
  const aborted = untilAborted(signal)
  let sequence = 0
  for await (const step of steps) {
    await inFlight.untilBelow(STEPS_IN_FLIGHT, signal)
    if (signal.aborted) return
    sequence += 1
    inFlight.add(sequence)
    // A queue that is away keeps the step until it is back; whoever stops does not wait for that.
    await Promise.race([addBatch(queue, { writerEpoch, sequence, step }), aborted])
  }
}
