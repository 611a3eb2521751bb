import type { ChainStep } from '../../shared/events/chain-step.ts'
import type { ByteBudget } from './byte-budget.ts'
import { Changes } from './changes.ts'
import { encodeStep, joinSteps, type EncodedStep, type StepBounds } from './join-steps.ts'

/** Limits of a step that is joined while it waits for the queue. */
const MOST_JOINED: StepBounds = { events: 4_000, bytes: 3 * 1024 * 1024, blocks: 65_536, ranges: 64 }

/**
 * The steps of one network that wait for a place in the queue. Consecutive ones are joined, so that a slow writer writes more at
 * once. Their bytes count in the process's budget until they are written.
 */
export class StepBuffer {
  readonly #changes = new Changes()
  readonly #budget: ByteBudget
  readonly #held: EncodedStep[] = []
  #bytes = 0
  #ended = false

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** Resolves once there is room for more, so that the source waits for a slow writer. */
  async put(step: ChainStep, signal: AbortSignal): Promise<void> {
    const next = encodeStep(step)
    this.#budget.take(next.bytes)
    this.#bytes += next.bytes
    const last = this.#held.at(-1)
    const joined = last === undefined ? undefined : joinSteps(last, next, MOST_JOINED)
    if (joined === undefined) this.#held.push(next)
    else this.#held[this.#held.length - 1] = joined
    this.#changes.notify()
    await this.#changes.until(() => !this.isFull, signal)
  }

  /** Must be called after the last step. */
  end(): void {
    this.#ended = true
    this.#changes.notify()
  }

  /** The next step; the caller must free its bytes. Undefined once nothing is left, or `signal` is aborted. */
  async take(signal: AbortSignal): Promise<EncodedStep | undefined> {
    await this.#changes.until(() => this.#held.length > 0 || this.#ended, signal)
    if (signal.aborted) return undefined
    const taken = this.#held.shift()
    this.#bytes -= taken?.bytes ?? 0
    this.#changes.notify()
    return taken
  }

  /** Drops what is held. */
  clear(): void {
    this.#budget.leave(this.#bytes)
    this.#bytes = 0
    this.#held.length = 0
  }

  /** Two joined steps keep any writer busy. Finality has no bytes, so places are limited as well. */
  get isFull(): boolean {
    if (this.#held.length > 8) return true
    return this.#bytes > 0 && (this.#budget.isFull || this.#bytes >= 2 * MOST_JOINED.bytes)
  }
}
