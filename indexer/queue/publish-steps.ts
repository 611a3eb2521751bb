import { messageOf } from '../../shared/errors.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { textLength } from '../../shared/text-length.ts'
import { ABORTED, unlessAborted } from '../../shared/until-aborted.ts'
import type { JobQueue } from './backend.ts'
import { addBatch, addNamedBatch, type BatchKey, type StepsInHand } from './batch-queue.ts'
import { Changes } from './changes.ts'
import { joinSteps, type StepBounds } from './join-steps.ts'
import { Room, weightOf, type NetworkRoom } from './room.ts'

/**
 * Steps in the queue that nobody writes yet: one that is next, one that is on its way. A place is free as soon as the
 * writer begins a step, not when it is done: what the source reads then, it reads while the database works.
 */
const STEPS_WAITING = 2
/** What waits for the queue is joined up to these. */
const MOST_JOINED: StepBounds = { events: 4_000, blocks: 65_536, ranges: 64 }
/** The same where the networks of this process together hold as much as they may, and this one its share. */
const MOST_JOINED_IF_TIGHT = 500
/** Characters of their events' texts: anybody can make an event of 128 KiB, and several steps are held in memory. */
const MOST_TEXT = 16 * 1024 * 1024
/** A job has a step's name; one of more text is in the queue alone until the writer takes it, for others are in memory. */
const MOST_TEXT_IN_HAND = 6 * 1024 * 1024

/** A step, and how long it is. */
interface MeasuredStep {
  step: ChainStep
  /** Characters of its events' texts. */
  text: number
}

/** The steps that one writer published and that are not written yet. */
export class InFlight implements StepsInHand {
  readonly #writerEpoch: number
  readonly #steps = new Map<number, { step: ChainStep | undefined; weight: number }>()
  /** Of those, the ones that the writer has not begun. */
  readonly #waiting = new Set<number>()
  #anyBegun = false
  /** The last step that the queue has taken; 0 while there is none. */
  #lastGiven = 0
  readonly #changes = new Changes()
  /** When the count last went down, or up from nothing; milliseconds of the monotonic clock. */
  #movedAtMs = performance.now()

  constructor(
    writerEpoch: number,
    readonly room: NetworkRoom = new Room().of('alone'),
  ) {
    this.#writerEpoch = writerEpoch
  }

  get size(): number {
    return this.#steps.size
  }

  /** Milliseconds since something was last written, while something waits; 0 while nothing does. */
  get stuckForMs(): number {
    return this.size === 0 ? 0 : performance.now() - this.#movedAtMs
  }

  /** The last step that the queue has taken; 0 while there is none. */
  get lastGiven(): number {
    return this.#lastGiven
  }

  /** Whether a step is not written that was published when or before this one was. */
  hasAnyUpTo(sequence: number): boolean {
    const [first] = this.#steps.keys()
    return first !== undefined && first <= sequence
  }

  /** The step of a job, where it is in hand. It is not when it is another writer's, written, or one of long texts. */
  stepOf({ writerEpoch, sequence }: BatchKey): ChainStep | undefined {
    return writerEpoch === this.#writerEpoch ? this.#steps.get(sequence)?.step : undefined
  }

  /** Whether it is in hand from now on. */
  add(sequence: number, { step, text }: MeasuredStep): boolean {
    if (this.size === 0) this.#movedAtMs = performance.now()
    const isKept = text <= MOST_TEXT_IN_HAND
    this.#steps.set(sequence, { step: isKept ? step : undefined, weight: weightOf(eventsOf(step), text) })
    this.#waiting.add(sequence)
    return isKept
  }

  /** The queue has taken it: from now on it is there until it is done. */
  given(sequence: number): void {
    this.#lastGiven = sequence
  }

  isOfLater({ writerEpoch }: BatchKey): boolean {
    return writerEpoch > this.#writerEpoch
  }

  begun(sequence: number): void {
    if (!this.#waiting.delete(sequence)) return
    this.#anyBegun = true
    this.#changes.notify()
  }

  /** Lets all steps go: nobody waits for them any more. */
  clear(): void {
    this.#steps.clear()
    this.#waiting.clear()
    this.room.leaveAll()
  }

  done(sequence: number): void {
    const done = this.#steps.get(sequence)
    if (done === undefined) return
    this.#steps.delete(sequence)
    this.room.leave(done.weight)
    this.begun(sequence)
    this.#movedAtMs = performance.now()
    this.#changes.notify()
  }

  /** Resolves once all that was published is written, or `signal` is aborted. */
  untilNone(signal: AbortSignal): Promise<void> {
    return this.#changes.until(() => this.size === 0, signal)
  }

  /** Resolves once the writer has begun the first step, or `signal` is aborted. */
  untilAnyBegun(signal: AbortSignal): Promise<void> {
    return this.#changes.until(() => this.#anyBegun, signal)
  }

  /** Resolves once fewer than so many wait for the writer, or `signal` is aborted. */
  untilFewerWait(limit: number, signal: AbortSignal): Promise<void> {
    return this.#changes.until(() => this.#waiting.size < limit, signal)
  }
}

/**
 * What was read and has no room in the queue yet: one step. Those that follow are joined with it, so that a writer that is
 * behind writes more at once, and one that keeps up gets every step as soon as it is read.
 */
class Backlog {
  readonly #changes = new Changes()
  readonly #room: NetworkRoom
  #held: MeasuredStep | undefined
  #ended = false

  constructor(room: NetworkRoom) {
    this.#room = room
  }

  /** Resolves once the step has a place here: memory does not grow while the queue is full. */
  async put(step: ChainStep, signal: AbortSignal): Promise<void> {
    const text = step.type === 'finalized' ? 0 : textLength(step.events)
    this.#room.take(weightOf(eventsOf(step), text))
    await this.#changes.until(() => this.#tryPut({ step, text }), signal)
    this.#changes.notify()
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true
    this.#changes.notify()
  }

  /** The next step; undefined once nothing is left, or `signal` is aborted. */
  async take(signal: AbortSignal): Promise<MeasuredStep | undefined> {
    let taken: MeasuredStep | undefined
    await this.#changes.until(() => {
      taken = this.#held
      this.#held = undefined
      return taken !== undefined || this.#ended
    }, signal)
    this.#changes.notify()
    return taken
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

function eventsOf(step: ChainStep): number {
  return step.type === 'finalized' ? 0 : step.events.length
}

/** What ends the source and everything beside it. */
export type Ending = Pick<AbortController, 'signal' | 'abort'>

/** Where steps go, from when on: what is read before waits here. */
interface Publishing {
  queue: JobQueue
  ready: Promise<unknown>
}

/**
 * A source's steps become jobs, in their order. Returns when the source ends or `ending` is aborted; where one of source
 * and queue fails, it aborts `ending`, waits until nothing is under way any more, and throws.
 */
export async function publishSteps(
  steps: AsyncIterable<ChainStep>,
  { queue, ready }: Publishing,
  writerEpoch: number,
  inFlight: InFlight,
  ending: Ending,
): Promise<void> {
  const { signal } = ending
  const backlog = new Backlog(inFlight.room)
  const collect = async (): Promise<void> => {
    for await (const step of steps) {
      await backlog.put(step, signal)
      // After a start the writer comes first: what is read ahead meanwhile would only keep it from the processor.
      await inFlight.untilAnyBegun(signal)
      if (signal.aborted) return
    }
    backlog.end()
  }
  /** One step, by a call of its own: a loop that waits for the next would keep it in memory. False: nothing follows. */
  const publishNext = async (sequence: number): Promise<boolean> => {
    const taken = await backlog.take(signal)
    if (taken === undefined || signal.aborted) return false
    const addTo = inFlight.add(sequence, taken) ? addNamedBatch : addBatch
    // A queue that is away keeps the step until it is back; whoever stops does not wait for that.
    const added = await unlessAborted(addTo(queue, { writerEpoch, sequence, step: taken.step }), signal)
    if (added === ABORTED) return false
    inFlight.given(sequence)
    return true
  }
  const publish = async (): Promise<void> => {
    if ((await unlessAborted(ready, signal)) === ABORTED) return
    for (let sequence = 1; ; sequence += 1) {
      await inFlight.untilFewerWait(STEPS_WAITING, signal)
      if (!(await publishNext(sequence))) return
    }
  }
  const endingAll = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      ending.abort(messageOf(error))
      throw error
    }
  }
  const ended = await Promise.allSettled([endingAll(collect), endingAll(publish)])
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}
