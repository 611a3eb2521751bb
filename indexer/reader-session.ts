import { messageOf, PermanentError, RetryableError } from '../shared/errors.ts'
import { ABORTED, unlessAborted, untilAborted } from '../shared/async/abort.ts'
import {
  findPosition,
  getHeaders,
  putChainRules,
  putWatched,
  raiseEpoch,
} from './event-log/chain-position.ts'
import { getQueueKey } from './event-log/queue-key.store.ts'
import { beginFollowing, untilClosed, type NetworkRun } from './network-run.ts'
import type { JobQueue } from './queue/backend.ts'
import type { JobKey } from './queue/envelope.ts'
import type { EncodedStep } from './queue/join-steps.ts'
import { StepBuffer } from './queue/step-buffer.ts'
import { jobsOf } from './queue/step-jobs.ts'
import { addJob, openStepQueue, stepQueueName, unblockQueue } from './queue/step-queue.ts'
import { UnwrittenSteps, type UnwrittenStep } from './queue/unwritten-steps.ts'
import { SessionEnd } from './session-end.ts'
import type { ResumePoint } from './sources/chain-source.ts'
import { endpointsOf } from './sources/rpc/rpc-error.ts'
import { followChain } from './sources/follow-chain.ts'
import type { FollowOptions } from './sources/follow-options.ts'
import { pause } from '../shared/async/pause.ts'
import { sameJson } from './watched-networks.ts'
import { WriterChanges } from './writer-changes.ts'

/** Why a reader session ended. All but `stopped` are followed by another one, from the position in Postgres. */
export type ReaderEnd =
  | { why: 'stopped' }
  | { why: 'source-ended' }
  /** Another process reads this network, or `reindex` read it with other contracts. */
  | { why: 'superseded' }
  /** A writer dropped a step: the position is elsewhere. */
  | { why: 'discontinuous'; result: string }
  /** The queue has a step no more, and nobody wrote it. */
  | { why: 'lost-step' }
  /** A writer ended with a step that nobody else gets from the queue for as long as BullMQ locks the job. */
  | { why: 'writer-changed' }
  /** A step became a dead letter. */
  | { why: 'dead-letter'; reason: string }
  | { why: 'failed'; error: unknown }

/** A step for which no event came for so long is looked for in Postgres. */
const LOOK_MS = 250
/** The same while nothing is on its way. */
const IDLE_LOOK_MS = 1_000
/** A queue in which a step waits longer may be paused. */
const UNBLOCKED_AFTER_MS = 5_000
/** A step that waits longer has no writer. */
const NO_WRITER_MS = 30_000

/** Results of a step's job. */
const WRITTEN: readonly unknown[] = ['applied', 'seen']
const DROPPED: readonly unknown[] = ['future', 'broken', 'incomplete', 'outdated']

/**
 * Reads one network from its position in Postgres and puts its steps into the queue, until it is stopped or the order of steps
 * breaks. It never waits for a particular writer: steps that were left in the queue are written if they continue the position.
 */
export class ReaderSession {
  readonly #run: NetworkRun
  readonly #end: SessionEnd<ReaderEnd>
  readonly #buffer: StepBuffer
  readonly #unwritten: UnwrittenSteps
  #epoch = 0
  #lookedAtMs = performance.now()
  #unblockedAtMs = -Infinity
  #rulesKept = '{}'

  constructor(run: NetworkRun) {
    this.#run = run
    this.#end = new SessionEnd(run.signal)
    this.#buffer = new StepBuffer(run.budget)
    this.#unwritten = new UnwrittenSteps(run.budget)
  }

  /** Rejects with a PermanentError when this network can never be read, and with another error when it cannot begin now. */
  async run(): Promise<ReaderEnd> {
    const { db, health, backend } = this.#run
    await this.#checkSource()
    this.#epoch = await raiseEpoch(db, health.network, 'reader', this.#start)
    await this.#keepRules()
    const writers = new WriterChanges((await findPosition(db, health.network))?.writerEpoch ?? 0)
    const resume = await this.#loadResumePoint()
    if (!health.held.has('writer')) health.indexed = resume.position
    beginFollowing(this.#run, 'reader', this.#epoch, resume.position)
    const key = { network: health.network, secret: await getQueueKey(db) }
    const queue = openStepQueue(backend, health.network)
    const events = backend.openEvents(stepQueueName(health.network), {
      onCompleted: (jobId, result) => this.#onCompleted(jobId, result),
      onFailed: (jobId, reason) => this.#onFailed(jobId, reason),
    })
    const beside = this.#run.beside.reader?.(this.#end.signal) ?? Promise.resolve()
    const children = [this.#collect(resume), this.#publish(queue, key), this.#watch(queue, writers), beside]
    await untilAborted(this.#end.signal)
    await untilClosed(...children, events.close(), queue.close())
    this.#buffer.clear()
    this.#unwritten.clear()
    const end = this.#end.reason ?? { why: 'stopped' }
    if (end.why === 'failed' && end.error instanceof PermanentError) throw end.error
    return end
  }

  get #start(): { startNumber: number; watched: unknown } {
    return { startNumber: this.#run.source.startBlock, watched: this.#run.watched }
  }

  /** A failed check is retried once the first block is indexed: an endpoint is wrong then, not the configuration. */
  async #checkSource(): Promise<void> {
    const { source, db, health } = this.#run
    const position = await findPosition(db, health.network)
    source.believeRules?.(position?.chainRules ?? {})
    try {
      await source.check()
    } catch (error) {
      if (error instanceof PermanentError && position?.block == null) throw error
      throw new RetryableError(messageOf(error), { cause: error })
    }
  }

  /** Stores the rules that the chain was found to follow by now. */
  async #keepRules(): Promise<void> {
    const { source, db, health } = this.#run
    const rules = source.chainRules?.() ?? {}
    const text = JSON.stringify(rules)
    if (text === this.#rulesKept) return
    await putChainRules(db, health.network, rules)
    this.#rulesKept = text
  }

  async #loadResumePoint(): Promise<ResumePoint> {
    const { db, health, watched } = this.#run
    const { network } = health
    const position = await findPosition(db, network)
    if (position === undefined) return { position: null, headers: [], finalized: null }
    const isSame = sameJson(position.watched, watched)
    if (position.block === null) {
      // Nothing was read yet: a mistake in the configuration may still be mended.
      if (!isSame || position.startNumber !== this.#start.startNumber)
        await putWatched(db, network, this.#epoch, this.#start)
      return { position: null, headers: [], finalized: null }
    }
    if (!isSame) {
      throw new PermanentError(
        `${network} was indexed with ${JSON.stringify(position.watched)}, the configuration now says ${JSON.stringify(watched)}: ` +
          `run \`npm run ops -- reindex --network ${network}\` to read it again with the new contracts, then start the indexer again`,
      )
    }
    const headers = await getHeaders(db, network)
    return { position: position.block, headers, finalized: position.finalized }
  }

  /** The chain into the buffer. */
  async #collect(resume: ResumePoint): Promise<void> {
    const { source, budget, firstWidth } = this.#run
    const { signal } = this.#end
    try {
      const options = { signal, isTight: () => budget.isFull, firstWidth, ...this.#listeners() }
      for await (const step of followChain(source, resume, options)) {
        await this.#buffer.put(step, signal)
        if (signal.aborted) return
      }
      this.#end.with({ why: 'source-ended' })
    } catch (error) {
      this.#end.with({ why: 'failed', error })
    } finally {
      this.#buffer.end()
    }
  }

  #listeners(): Pick<FollowOptions, 'onHead' | 'onLate' | 'onProblem' | 'onRange' | 'onRead'> {
    const { health } = this.#run
    return {
      onHead: ({ head, finalized }) => {
        health.head = head
        health.finalized = finalized
        health.clear('head')
      },
      onLate: (message) => health.fail('head', 'node', message),
      onProblem: (message, error) => health.fail('reading', 'node', message, endpointsOf(error)),
      onRange: health.meter.onRead,
      onRead: () => {
        health.clear('reading')
        // Nothing is left that could fail: what failed was replaced by a reorg, or written by an earlier session.
        if (this.#unwritten.size === 0 && health.indexed?.hash === health.head?.hash)
          health.clear('writing', 'worker')
      },
    }
  }

  /** The buffer into the queue. */
  async #publish(queue: JobQueue, key: JobKey): Promise<void> {
    const { signal } = this.#end
    try {
      for (let sequence = 1; ; sequence += 1) {
        await this.#unwritten.untilRoom(signal)
        const step = await this.#buffer.take(signal)
        if (step === undefined) return
        if (!(await this.#give(queue, key, sequence, step))) return
      }
    } catch (error) {
      this.#end.with({ why: 'failed', error })
    }
  }

  /** A call of its own, so that the step does not stay in memory while the next one is waited for. False when it is stopped. */
  async #give(queue: JobQueue, key: JobKey, sequence: number, step: EncodedStep): Promise<boolean> {
    const { head, bytes } = step
    const to = head.type === 'finalized' ? null : head.to
    const jobs = await jobsOf({ readerEpoch: this.#epoch, sequence }, step)
    const unwritten: UnwrittenStep = {
      sequence,
      bytes,
      to,
      jobIds: [],
      lastJobId: null,
      givenAtMs: performance.now(),
    }
    this.#unwritten.add(unwritten)
    for (const job of jobs) {
      // A queue that is away takes the job when it is back; a session that is stopped does not wait for that.
      const jobId = await unlessAborted(addJob(queue, key, job), this.#end.signal)
      if (jobId === ABORTED) return false
      unwritten.jobIds.push(jobId)
    }
    unwritten.lastJobId = unwritten.jobIds.at(-1) ?? null
    return true
  }

  #onCompleted(jobId: string, result: unknown): void {
    const step = this.#unwritten.ofJob(jobId)
    if (step === undefined) return
    this.#lookedAtMs = performance.now()
    if (WRITTEN.includes(result)) this.#onWritten(step.sequence)
    else if (DROPPED.includes(result)) this.#end.with({ why: 'discontinuous', result: String(result) })
  }

  #onWritten(sequence: number): void {
    const { health } = this.#run
    const last = this.#unwritten.writtenUpTo(sequence)
    if (last === undefined) return
    health.meter.onQueued(performance.now() - last.givenAtMs)
    health.clear('unwritten')
    if (last.to !== null && !health.held.has('writer')) health.indexed = last.to
  }

  #onFailed(jobId: string, reason: string): void {
    if (this.#unwritten.ofJob(jobId) !== undefined) this.#end.with({ why: 'dead-letter', reason })
  }

  /** Looks at Postgres, which decides; BullMQ's events can be lost, and anybody who may write to the queue can forge them. */
  async #watch(queue: JobQueue, writers: WriterChanges): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      const everyMs = this.#unwritten.size > 0 ? LOOK_MS : IDLE_LOOK_MS
      await pause(Math.min(LOOK_MS, everyMs), signal)
      this.#run.health.queueAgeMs = this.#unwritten.waitsForMs
      if (performance.now() - this.#lookedAtMs < everyMs) continue
      this.#lookedAtMs = performance.now()
      // Nothing is known while the database is away; its own watch reports that.
      await this.#look(queue, writers).catch(() => undefined)
    }
  }

  async #look(queue: JobQueue, writers: WriterChanges): Promise<void> {
    const { db, health, queueWatch } = this.#run
    const { reported } = this.#unwritten
    const jobId = this.#unwritten.oldest?.lastJobId ?? null
    // The queue is asked first: a step is written before its job leaves the queue.
    const isGone = jobId !== null && (await this.#isGone(queue, jobId))
    const position = await findPosition(db, health.network)
    if (this.#end.signal.aborted) return
    await this.#keepRules()
    const written = position?.written
    const sequence = written?.readerEpoch === this.#epoch ? written.sequence : 0
    if (position?.readerEpoch !== this.#epoch) this.#end.with({ why: 'superseded' })
    // A forged event, or a failover that lost transactions.
    else if (sequence < reported) this.#end.with({ why: 'lost-step' })
    else this.#onWritten(sequence)
    if (isGone && this.#unwritten.oldest?.lastJobId === jobId) this.#end.with({ why: 'lost-step' })
    const oldest = this.#unwritten.oldest?.sequence
    if (position !== undefined && writers.leftAStep(position.writerEpoch, oldest, performance.now()))
      this.#end.with({ why: 'writer-changed' })
    const waitsForMs = Math.min(this.#unwritten.waitsForMs, queueWatch.answersForMs)
    if (waitsForMs > UNBLOCKED_AFTER_MS) await this.#unblock(queue)
    if (waitsForMs > NO_WRITER_MS)
      health.fail('unwritten', 'worker', 'no writer takes the steps that wait in the queue')
  }

  /** Others who may write to the queue can pause it. */
  async #unblock(queue: JobQueue): Promise<void> {
    if (performance.now() - this.#unblockedAtMs < UNBLOCKED_AFTER_MS) return
    this.#unblockedAtMs = performance.now()
    await unlessAborted(unblockQueue(queue), this.#end.signal)
  }

  async #isGone(queue: JobQueue, jobId: string): Promise<boolean> {
    const state = await unlessAborted(queue.getJobState(jobId), this.#end.signal)
    return state !== ABORTED && ['unknown', 'completed', 'failed'].includes(state)
  }
}

/** One line for operators. */
export function describeReaderEnd(end: ReaderEnd): string {
  switch (end.why) {
    case 'stopped':
      return 'it was stopped'
    case 'source-ended':
      return 'the source ended'
    case 'superseded':
      return 'another process reads this network'
    case 'discontinuous':
      return `a step does not continue the position (${end.result})`
    case 'lost-step':
      return 'the queue lost a step that it was given'
    case 'writer-changed':
      return 'a writer ended with a step'
    case 'dead-letter':
      return `a step could not be written: ${end.reason}`
    case 'failed':
      return messageOf(end.error)
  }
}
