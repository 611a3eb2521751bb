import type { ChainStep } from '../../shared/events/chain-step.ts'
import { textLength } from '../../shared/text-length.ts'
import { Changes } from './changes.ts'
import { joinSteps, type StepBounds } from './join-steps.ts'
import { weightOf, type NetworkRoom } from './room.ts'

/** A step, and how long it is. */
export interface MeasuredStep {
  step: ChainStep
  /** Characters of its events' texts. */
  text: number
}

/** What waits for the queue is joined up to these. */
const MOST_JOINED: StepBounds = { events: 4_000, blocks: 65_536, ranges: 64 }
/** The same where the networks of this process together hold as much as they may, and this one its share. */
const MOST_JOINED_IF_TIGHT = 500
/**
 * Characters of events' texts of one step: several are held in memory, and anybody can make an event of 128 KiB. What has more
 * by itself is in the queue alone until the writer takes it, which costs more than another step.
 */
export const MOST_TEXT = 6 * 1024 * 1024
/**
 * Milliseconds after a step for which final blocks are collected, unless a step is full of them before. A step costs a score
 * of statements however few events it has, and of final blocks more follow at once.
 */
const COLLECTED_FOR_MS = 400

/**
 * What was read and has no room in the queue yet: one step. Those that follow are joined with it, so that a writer that is
 * behind writes more at once. One that keeps up gets every step of blocks at the head as soon as it is read; of final blocks,
 * which nobody waits for, some together.
 */
export class Backlog {
  readonly #changes = new Changes()
  readonly #room: NetworkRoom
  #held: MeasuredStep | undefined
  /** Whether somebody has a step that is not joined with what is held. */
  #isFull = false
  #ended = false
  /** When a step was last taken, on the monotonic clock. */
  #takenMs = Number.NEGATIVE_INFINITY

  constructor(room: NetworkRoom) {
    this.#room = room
  }

  /** Resolves once the step has a place here: memory does not grow while the queue is full. One call at a time. */
  async put(step: ChainStep, signal: AbortSignal): Promise<void> {
    const next = { step, text: step.type === 'finalized' ? 0 : textLength(step.events) }
    this.#room.take(weightOfStep(next))
    this.#isFull = !this.#tryPut(next)
    this.#changes.notify()
    if (!this.#isFull) return
    await this.#changes.until(() => this.#tryPut(next), signal)
    this.#isFull = false
    this.#changes.notify()
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true
    this.#changes.notify()
  }

  /** The next step; undefined once nothing is left, or `signal` is aborted. */
  async take(signal: AbortSignal): Promise<MeasuredStep | undefined> {
    const restMs = this.#takenMs + COLLECTED_FOR_MS - performance.now()
    let isDue = restMs <= 0
    const becomeDue = (): void => {
      isDue = true
      this.#changes.notify()
    }
    const timer = isDue ? undefined : setTimeout(becomeDue, restMs)
    let taken: MeasuredStep | undefined
    await this.#changes.until(() => {
      if (!isDue && this.#isCollecting()) return false
      taken = this.#held
      this.#held = undefined
      return taken !== undefined || this.#ended
    }, signal)
    clearTimeout(timer)
    this.#takenMs = performance.now()
    this.#changes.notify()
    return taken
  }

  /** Whether what is held will soon be more, and may be. Final blocks come without headers: nobody asks which they continue. */
  #isCollecting(): boolean {
    const step = this.#held?.step
    if (this.#isFull || this.#ended || this.#room.isTight()) return false
    return step?.type === 'blocks' && step.headers.length === 0
  }

  /** Whether it has a place now; where it has, it is there. */
  #tryPut(next: MeasuredStep): boolean {
    if (this.#held === undefined) {
      this.#held = next
      return true
    }
    const text = this.#held.text + next.text
    const most = this.#room.isTight() ? { ...MOST_JOINED, events: MOST_JOINED_IF_TIGHT } : MOST_JOINED
    const step = text > MOST_TEXT ? undefined : joinSteps(this.#held.step, next.step, most)
    if (step === undefined) return false
    this.#held = { step, text }
    return true
  }
}

/** What it weighs in a {@link NetworkRoom}. */
export function weightOfStep({ step, text }: MeasuredStep): number {
  return weightOf(step.type === 'finalized' ? 0 : step.events.length, text)
}
