import type { ChainStep } from '../../shared/events/chain-step.ts'
import { untilAborted } from '../../shared/until-aborted.ts'
import type { JobQueue } from './backend.ts'
import { addBatch } from './batch-queue.ts'
import { Changes } from './changes.ts'
import { joinSteps } from './join-steps.ts'

/** Steps in the queue at once: one that is written, one that is next, one that is on its way. */
const STEPS_IN_FLIGHT = 3
/** What waits for the queue is joined up to so many events: what one transaction writes, and one job carries. */
const MAX_JOINED_EVENTS = 2_000

/** Counts the steps that were published and are not written yet. */
export class InFlight {
  readonly #sequences = new Set<number>()
  readonly #changes = new Changes()
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
    this.#changes.notify()
  }

  untilBelow(limit: number, signal: AbortSignal): Promise<void> {
    return this.#changes.until(() => this.size < limit, signal)
  }
}

/**
 * What was read and has no room in the queue yet: one step. Those that follow are joined with it, so that a writer that is
 * behind writes more at once, and one that keeps up gets every step as soon as it is read.
 */
class Backlog {
  readonly #changes = new Changes()
  #step: ChainStep | undefined
  #ended = false

  /** Resolves once the step has a place here: memory does not grow while the queue is full. */
  async put(step: ChainStep, signal: AbortSignal): Promise<void> {
    let joined: ChainStep | undefined
    await this.#changes.until(() => (joined = this.#joined(step)) !== undefined, signal)
    this.#step = joined
    this.#changes.notify()
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true
    this.#changes.notify()
  }

  /** The next step; undefined once nothing is left, or `signal` is aborted. */
  async take(signal: AbortSignal): Promise<ChainStep | undefined> {
    await this.#changes.until(() => this.#step !== undefined || this.#ended, signal)
    const step = this.#step
    this.#step = undefined
    this.#changes.notify()
    return step
  }

  #joined(step: ChainStep): ChainStep | undefined {
    return this.#step === undefined ? step : joinSteps(this.#step, step, MAX_JOINED_EVENTS)
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
  const backlog = new Backlog()
  const collect = async (): Promise<void> => {
    for await (const step of steps) {
      await backlog.put(step, signal)
      if (signal.aborted) return
    }
    backlog.end()
  }
  const aborted = untilAborted(signal)
  const publish = async (): Promise<void> => {
    for (let sequence = 1; ; sequence += 1) {
      await inFlight.untilBelow(STEPS_IN_FLIGHT, signal)
      const step = await backlog.take(signal)
      if (step === undefined || signal.aborted) return
      inFlight.add(sequence)
      // A queue that is away keeps the step until it is back; whoever stops does not wait for that.
      await Promise.race([addBatch(queue, { writerEpoch, sequence, step }), aborted])
    }
  }
  // Where one of them fails, the caller aborts `signal`, which ends the other.
  await Promise.all([collect(), publish()])
}
