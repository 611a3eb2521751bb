import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { ByteBudget } from './byte-budget.ts'
import { Changes } from './changes.ts'

/** One is being written, one is next, and one covers the delay until the reader hears of the first. */
const MOST_STEPS = 3

/** A step in the queue that is not written yet. */
export interface UnwrittenStep {
  sequence: number
  bytes: number
  /** The last block; null for finality alone. */
  to: BlockRef | null
  /** The jobs of its parts that the queue has taken. */
  jobIds: string[]
  /** Set once the queue has taken all parts. This job stays until the step is written. */
  lastJobId: string | null
  /** Time at which the queue was first given it; milliseconds of the monotonic clock. */
  givenAtMs: number
}

/** The unwritten steps of one reader session, in order. */
export class UnwrittenSteps {
  readonly #steps = new Map<number, UnwrittenStep>()
  readonly #changes = new Changes()
  readonly #budget: ByteBudget
  /** Time at which the oldest step became the oldest; milliseconds of the monotonic clock. */
  #movedAtMs = performance.now()
  /** Sequence of the last step that was reported as written. */
  reported = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  get size(): number {
    return this.#steps.size
  }

  /** Milliseconds since the last step was written; 0 while none waits. */
  get waitsForMs(): number {
    return this.size === 0 ? 0 : performance.now() - this.#movedAtMs
  }

  get oldest(): UnwrittenStep | undefined {
    const [oldest] = this.#steps.values()
    return oldest
  }

  /** Holds the step's bytes until it is written. */
  add(step: UnwrittenStep): void {
    if (this.size === 0) this.#movedAtMs = performance.now()
    this.#steps.set(step.sequence, step)
  }

  ofJob(jobId: string): UnwrittenStep | undefined {
    return [...this.#steps.values()].find(({ jobIds }) => jobIds.includes(jobId))
  }

  /** Frees all steps up to this one; returns the last of them. */
  writtenUpTo(sequence: number): UnwrittenStep | undefined {
    this.reported = Math.max(this.reported, sequence)
    const written = [...this.#steps.values()].filter((step) => step.sequence <= sequence)
    for (const step of written) this.#release(step)
    if (written.length > 0) this.#changes.notify()
    return written.at(-1)
  }

  /** Frees all steps. */
  clear(): void {
    for (const step of this.#steps.values()) this.#release(step)
  }

  /** Resolves once the queue may get one more, or `signal` is aborted. A network without any never waits. */
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
