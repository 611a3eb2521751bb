import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { ByteBudget } from './byte-budget.ts'
import { Changes } from './changes.ts'

/** One that is written, one that is next, and one for the time in which the reader hears of it. */
const MOST_STEPS = 3

/** A step that the queue was given and that is not written yet. */
export interface UnwrittenStep {
  sequence: number
  bytes: number
  /** The last block; null for finality alone. */
  to: BlockRef | null
  /** Of its parts that the queue has taken. */
  jobIds: string[]
  /** Once the queue has taken all of it: this job is there until the step is written. */
  lastJobId: string | null
}

/** The steps of one reader session that are on their way through the queue, in order. */
export class UnwrittenSteps {
  readonly #steps = new Map<number, UnwrittenStep>()
  readonly #changes = new Changes()
  readonly #budget: ByteBudget
  /** When the oldest step became the oldest; milliseconds of the monotonic clock. */
  #movedAtMs = performance.now()
  /** The last step that was reported as written. */
  reported = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  get size(): number {
    return this.#steps.size
  }

  /** Milliseconds since a step was last written, while some wait. */
  get waitsForMs(): number {
    return this.size === 0 ? 0 : performance.now() - this.#movedAtMs
  }

  get oldest(): UnwrittenStep | undefined {
    const [oldest] = this.#steps.values()
    return oldest
  }

  /** The step's bytes are held here until it is written. */
  add(step: UnwrittenStep): void {
    if (this.size === 0) this.#movedAtMs = performance.now()
    this.#steps.set(step.sequence, step)
  }

  ofJob(jobId: string): UnwrittenStep | undefined {
    return [...this.#steps.values()].find(({ jobIds }) => jobIds.includes(jobId))
  }

  /** All steps up to this one are written; returns the last of those that were still here. */
  writtenUpTo(sequence: number): UnwrittenStep | undefined {
    this.reported = Math.max(this.reported, sequence)
    const written = [...this.#steps.values()].filter((step) => step.sequence <= sequence)
    for (const step of written) this.#release(step)
    if (written.length > 0) this.#changes.notify()
    return written.at(-1)
  }

  /** Nobody waits for them any more. */
  clear(): void {
    for (const step of this.#steps.values()) this.#release(step)
  }

  /** Resolves once one more may be given to the queue, or `signal` is aborted. A network without any always may. */
  untilRoom(signal: AbortSignal): Promise<void> {
    const hasRoom = (): boolean => this.size === 0 || (this.size < MOST_STEPS && !this.#budget.isFull)
    return this.#changes.until(hasRoom, signal)
  }

  #release({ sequence, bytes }: UnwrittenStep): void {
    this.#steps.delete(sequence)
    this.#budget.leave(bytes)
    this.#movedAtMs = performance.now()
  }
}
