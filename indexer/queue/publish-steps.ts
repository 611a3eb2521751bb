import { messageOf } from '../../shared/errors.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { ABORTED, unlessAborted } from '../../shared/until-aborted.ts'
import type { JobQueue } from './backend.ts'
import { Backlog, MOST_TEXT, weightOfStep, type MeasuredStep } from './backlog.ts'
import { addBatch, packStep, type StepsInHand } from './batch-queue.ts'
import { Changes } from './changes.ts'
import type { JobKey, JobPosition } from './envelope.ts'
import { Room, type NetworkRoom } from './room.ts'

/**
 * Steps in the queue that nobody writes yet: one that is next, one that is on its way. A place is free as soon as the
 * writer begins a step, not when it is done: what the source reads then, it reads while the database works.
 */
const STEPS_WAITING = 2

/** The steps that one writer published and that are not written yet. */
export class InFlight implements StepsInHand {
  readonly #writerEpoch: number
  readonly #steps = new Map<
    number,
    { step: ChainStep | undefined; weight: number; jobId: string | undefined }
  >()
  /** Of those, the ones that the writer has not begun. */
  readonly #waiting = new Set<number>()
  #anyBegun = false
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

  /** The job of the first step that is not written; undefined when all are, or the queue has not taken that one. */
  get oldestJobId(): string | undefined {
    const [oldest] = this.#steps.values()
    return oldest?.jobId
  }

  isInFlight({ writerEpoch, sequence }: JobPosition): boolean {
    return writerEpoch === this.#writerEpoch && this.#steps.has(sequence)
  }

  /** The step of a job, where it is in memory: not another writer's, not written yet, and not one that its job carries. */
  stepOf({ writerEpoch, sequence }: JobPosition): ChainStep | undefined {
    return writerEpoch === this.#writerEpoch ? this.#steps.get(sequence)?.step : undefined
  }

  /** From now on the step is waited for; `isKept`: in memory, for its job does not carry it. */
  add(sequence: number, measured: MeasuredStep, isKept: boolean): void {
    if (this.size === 0) this.#movedAtMs = performance.now()
    const step = isKept ? measured.step : undefined
    this.#steps.set(sequence, { step, weight: weightOfStep(measured), jobId: undefined })
    this.#waiting.add(sequence)
  }

  /** The queue has taken the step: its job is there until the step is written. */
  given(sequence: number, jobId: string): void {
    const given = this.#steps.get(sequence)
    if (given !== undefined) given.jobId = jobId
  }

  isOfLater({ writerEpoch }: JobPosition): boolean {
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

/** What ends the source and everything beside it. */
export type Ending = Pick<AbortController, 'signal' | 'abort'>

/** Where steps go, from when on: what is read before waits here. */
interface Publishing {
  queue: JobQueue
  key: JobKey
  ready: Promise<unknown>
}

/**
 * A source's steps become jobs, in their order. Returns when the source ends or `ending` is aborted; where one of source
 * and queue fails, it aborts `ending`, waits until nothing is under way any more, and throws.
 */
export async function publishSteps(
  steps: AsyncIterable<ChainStep>,
  { queue, key, ready }: Publishing,
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
    const payload = taken.text <= MOST_TEXT ? null : await packStep(taken.step)
    inFlight.add(sequence, taken, payload === null)
    // A queue that is away keeps the step until it is back; whoever stops does not wait for that.
    const job = { writerEpoch, sequence, step: taken.step }
    const added = await unlessAborted(addBatch(queue, key, job, payload), signal)
    if (added === ABORTED) return false
    inFlight.given(sequence, added)
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
