import { messageOf } from '../shared/errors.ts'
import type { ChainStep } from '../shared/events/chain-step.ts'
import { isDatabaseRetryable } from '../shared/db/transaction.ts'
import { ABORTED, unlessAborted, untilAborted } from '../shared/async/abort.ts'
import { findPosition, raiseEpoch } from './event-log/chain-position.ts'
import { getQueueKey } from './event-log/queue-key.store.ts'
import { DeadLetterBox } from './ingest/dead-letter-box.ts'
import { ingestStep, type Outcome } from './ingest/ingest-step.ts'
import { beginFollowing, describeStep, kindOf, untilClosed, type NetworkRun } from './network-run.ts'
import type { JobQueue } from './queue/backend.ts'
import { forgetFailedSteps, openStepQueue, stepQueueName, unblockQueue } from './queue/step-queue.ts'
import { startStepWorker, type RefusedJob, type StepHandling } from './queue/step-worker.ts'
import { SessionEnd } from './session-end.ts'
import { pause } from '../shared/async/pause.ts'

/** Why a writer session ended. */
export type WriterEnd =
  | { why: 'stopped' }
  /** Another process writes this network. */
  | { why: 'superseded' }
  /** Jobs wait in a queue that answers, and the worker takes none. */
  | { why: 'stuck' }

const LOOK_MS = 1_000
/** A worker that takes nothing for so long, while jobs wait in a queue that answers, is replaced. */
const STUCK_MS = 30_000
/** A step that failed and is in the queue no more is read again by then, where it still has to be written. */
const FORGOTTEN_AFTER_MS = 10_000
/** Refused jobs that may wait for the database before the queue's worker waits for it as well. */
const MOST_REFUSED_WAITING = 1_000

/**
 * Writes the steps of one network in the order of the queue, each in one transaction. Only the writer with the newest epoch can
 * make one. A step that does not continue the position is dropped, and its reader is notified.
 */
export class WriterSession {
  readonly #run: NetworkRun
  readonly #end: SessionEnd<WriterEnd>
  readonly #deadLetters: DeadLetterBox
  #epoch = 0
  /** Time at which a job was last taken, or none was waiting; milliseconds of the monotonic clock. */
  #tookAtMs = performance.now()
  #emptySinceMs: number | null = null
  /** Blocks were written since the last step failed: the network goes on without it. */
  #goesOn = false

  constructor(run: NetworkRun) {
    this.#run = run
    this.#end = new SessionEnd(run.signal)
    this.#deadLetters = new DeadLetterBox(run.db)
  }

  /** Rejects when it cannot begin now. */
  async run(): Promise<WriterEnd> {
    const { db, health, backend, source, watched } = this.#run
    const start = { startNumber: source.startBlock, watched }
    this.#epoch = await raiseEpoch(db, health.network, 'writer', start)
    const position = await findPosition(db, health.network)
    health.indexed = position?.block ?? null
    const key = { network: health.network, secret: await getQueueKey(db) }
    beginFollowing(this.#run, 'writer', this.#epoch, health.indexed)
    const queue = openStepQueue(backend, health.network)
    // A queue that is away is asked for as long as it takes.
    unblockQueue(queue).catch(() => undefined)
    const worker = startStepWorker<Outcome>(backend, key, this.#handling())
    const children = [this.#watch(queue), this.#run.beside.writer?.(this.#end.signal) ?? Promise.resolve()]
    await untilAborted(this.#end.signal)
    await untilClosed(...children, worker.close(), queue.close())
    return this.#end.reason ?? { why: 'stopped' }
  }

  #handling(): StepHandling<Outcome> {
    const { db, health } = this.#run
    return {
      ingest: async ({ step, ...place }) => {
        const beganMs = performance.now()
        const outcome = await ingestStep(db, health, this.#epoch, step, place)
        if (outcome === 'applied') health.meter.onWritten(step, performance.now() - beganMs)
        return outcome
      },
      isSuperseded: (outcome) => {
        if (outcome === 'void') this.#end.with({ why: 'superseded' })
        return outcome === 'void'
      },
      isRetryable: isDatabaseRetryable,
      onTaken: () => (this.#tookAtMs = performance.now()),
      onDone: ({ step }, outcome) => this.#onDone(step, outcome),
      onRetry: ({ step }, error) => {
        // It is at work: another worker would find the database away as well.
        this.#tookAtMs = performance.now()
        health.counts.retries += 1
        health.fail('writing', kindOf(error), `writing ${describeStep(step)}: ${messageOf(error)}`)
      },
      onFailed: (failed) => this.#onFailed(failed),
      onRefused: (refused) => this.#onRefused(refused),
      signal: this.#end.signal,
    }
  }

  #onDone(step: ChainStep, outcome: Outcome): void {
    const { health, log } = this.#run
    this.#tookAtMs = performance.now()
    log.debug({ network: health.network, outcome, step: describeStep(step) }, 'step')
    if (outcome === 'applied' || outcome === 'seen') health.clear('writing', 'worker')
    if (outcome !== 'applied') return
    const { counts } = health
    counts.steps += 1
    if (step.type === 'finalized') return
    health.indexed = step.to
    this.#goesOn = true
    counts.events += step.events.length
    for (const { kind } of step.events)
      if (kind === 'Undecodable' || kind === 'UndecodableMessage') counts.undecodable += 1
    if (step.type === 'reorg') counts.reorgs += 1
  }

  /** A step is kept to be looked at; a failure to keep it is only logged. */
  #onFailed({ jobId, step, error, isLast }: Parameters<StepHandling<Outcome>['onFailed']>[0]): void {
    const { health, log } = this.#run
    const { network } = health
    if (!this.#end.signal.aborted) health.fail('writing', 'step', messageOf(error))
    if (!isLast) return
    this.#goesOn = false
    log.error({ network, error: messageOf(error) }, 'a step became a dead letter')
    const letter = {
      queue: stepQueueName(network),
      jobId,
      network,
      payload: { step },
      reason: messageOf(error),
    }
    this.#deadLetters.put(letter).catch((failure: unknown) => this.#notKept(failure))
  }

  /** A flood of jobs that others made costs the network's own steps no wait for a transaction each. */
  async #onRefused({ jobId, data, unread, reason }: RefusedJob): Promise<void> {
    const { network, counts } = this.#run.health
    counts.refusedJobs += 1
    if (counts.refusedJobs === 1 || counts.refusedJobs % 10_000 === 0)
      this.#run.log.error({ network, refused: counts.refusedJobs }, `a job became a dead letter: ${reason}`)
    const queue = stepQueueName(network)
    const kept = this.#deadLetters
      .put({ queue, jobId, network, payload: data, unread, reason, isMalformed: true })
      .catch((failure: unknown) => this.#notKept(failure))
    if (this.#deadLetters.size >= MOST_REFUSED_WAITING) await kept
  }

  #notKept(failure: unknown): void {
    const { health, log } = this.#run
    log.warn({ network: health.network }, `a dead letter was not kept: ${messageOf(failure)}`)
  }

  /** Counts the queue's jobs, and ends the session of a worker that takes none of them. */
  async #watch(queue: JobQueue): Promise<void> {
    const { health, queueWatch } = this.#run
    const { signal } = this.#end
    while (!signal.aborted) {
      const counts = await countJobs(queue, signal)
      health.queueWaiting = counts?.unfinished ?? null
      health.queueFailed = counts?.failed ?? null
      this.#forgetFailure(counts?.unfinished ?? null)
      if (this.#goesOn && (counts?.failed ?? 0) > 0)
        await unlessAborted(forgetFailedSteps(queue), signal).catch(() => undefined)
      const nowMs = performance.now()
      if (counts?.waiting === 0) this.#tookAtMs = nowMs
      if (Math.min(nowMs - this.#tookAtMs, queueWatch.answersForMs) >= STUCK_MS) {
        health.fail('worker', 'worker', 'the queue worker takes nothing although work waits')
        this.#end.with({ why: 'stuck' })
      }
      await pause(LOOK_MS, signal)
    }
  }

  /** A failed step that nobody brings again was replaced by a reorg, or written before its failure was known. */
  #forgetFailure(unfinished: number | null): void {
    const nowMs = performance.now()
    this.#emptySinceMs = unfinished === 0 ? (this.#emptySinceMs ?? nowMs) : null
    if (this.#emptySinceMs !== null && nowMs - this.#emptySinceMs > FORGOTTEN_AFTER_MS)
      this.#run.health.clear('writing', 'worker')
  }
}

/** Null while the queue cannot be asked. */
async function countJobs(
  queue: JobQueue,
  signal: AbortSignal,
): Promise<{ waiting: number; unfinished: number; failed: number } | null> {
  const asked = queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
  const counts = await unlessAborted(asked, signal).catch(() => ABORTED)
  if (counts === ABORTED || typeof counts === 'symbol') return null
  const { waiting = 0, active = 0, delayed = 0, failed = 0 } = counts
  return { waiting, unfinished: waiting + active + delayed, failed }
}

export function describeWriterEnd({ why }: WriterEnd): string {
  switch (why) {
    case 'stopped':
      return 'it was stopped'
    case 'superseded':
      return 'another process writes this network'
    case 'stuck':
      return `the worker took nothing for ${STUCK_MS} ms while steps were waiting`
  }
}
