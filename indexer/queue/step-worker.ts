import { UnrecoverableError } from 'bullmq'
import { messageOf, PermanentError } from '../../shared/errors.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import type { UnreadData } from './bounded-jobs.ts'
import { MAX_ENVELOPE, openJob, type JobKey, type StepPlace } from './envelope.ts'
import { LEFT, patiently } from './patiently.ts'
import { GatheredParts, stepOf } from './step-jobs.ts'
import { FAILED_KEPT, stepQueueName } from './step-queue.ts'

/** A step from the queue. */
export interface TakenStep extends StepPlace {
  step: ChainStep
}

/**
 * The reader receives the result of each job. `more`: the other parts of its step are still to come. `incomplete`: an earlier
 * part is missing, so the step is lost.
 */
export type PartOutcome = 'more' | 'incomplete'

export interface StepHandling<Outcome> {
  /** Writes one step. */
  ingest: (taken: TakenStep) => Promise<Outcome>
  /** True if another writer has replaced this one. The job is left to that one. */
  isSuperseded: (outcome: Outcome) => boolean
  /** True if the database is away or busy, so that a later attempt can succeed. */
  isRetryable: (error: unknown) => boolean
  onTaken: () => void
  onDone: (taken: TakenStep, outcome: Outcome) => void
  onRetry: (taken: TakenStep, error: unknown) => void
  /** A step could not be written. `isLast`: no attempt follows. */
  onFailed: (failed: {
    jobId: string | null
    step: ChainStep | null
    error: unknown
    isLast: boolean
  }) => void
  /** A job that no indexer made for this network; it changed nothing. */
  onRefused: (refused: RefusedJob) => Promise<void>
  signal: AbortSignal
}

export interface RefusedJob {
  jobId: string | null
  data: unknown
  /** Set if the data were never parsed. */
  unread: UnreadData | undefined
  reason: string
}

/**
 * Longer than a step's transaction may take. A worker that freezes for longer loses its job to another. The job of a killed
 * one waits one to three times this; its reader does not wait for that.
 */
const LOCK_MS = 30_000

/**
 * Takes a network's steps one after the other. A step is repeated in place while the database is away: BullMQ's attempts would
 * let the steps behind it pass, and a queue in Postgres is away as well.
 */
export function startStepWorker<Outcome>(
  backend: QueueBackend,
  key: JobKey,
  handling: StepHandling<Outcome>,
): JobWorker {
  const parts = new GatheredParts()
  const handle = (job: ReceivedJob): Promise<unknown> => handleJob(job, key, parts, handling)
  return backend.openWorker(stepQueueName(key.network), handle, {
    concurrency: 1,
    mostCharacters: MAX_ENVELOPE,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
    // The reader misses a step whose job is given up, and reads its blocks again.
    maxStalledCount: 3,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: FAILED_KEPT },
  })
}

async function handleJob<Outcome>(
  job: ReceivedJob,
  key: JobKey,
  parts: GatheredParts,
  handling: StepHandling<Outcome>,
): Promise<unknown> {
  const { id: jobId, unread, data } = job
  handling.onTaken()
  const opened = unread === undefined ? openJob(key, data) : refusalOf(unread)
  if (!opened.ok) {
    await handling.onRefused({ jobId, data, unread, reason: opened.reason })
    // The job is removed as completed. Postgres keeps it, so that strangers cannot fill the queue's server.
    return null
  }
  const { content } = opened
  let step: ChainStep | null = null
  let outcome: Outcome | typeof LEFT
  try {
    const whole = content.payload === undefined ? content : parts.add(content)
    if (typeof whole === 'string') return whole satisfies PartOutcome
    step = await stepOf(whole)
    const taken = { readerEpoch: content.readerEpoch, sequence: content.sequence, step }
    outcome = await patiently(() => handling.ingest(taken), {
      ...handling,
      onRetry: (error) => handling.onRetry(taken, error),
    })
    if (outcome !== LEFT && !handling.isSuperseded(outcome)) {
      handling.onDone(taken, outcome)
      return outcome
    }
  } catch (error) {
    // A stop may close the database under a step.
    if (handling.signal.aborted) return job.putBack()
    // The parts before this one have left the queue.
    const isPermanent = error instanceof PermanentError || content.parts > 1
    handling.onFailed({ jobId, step, error, isLast: isPermanent || job.isLastAttempt })
    throw isPermanent ? new UnrecoverableError(messageOf(error)) : error
  }
  return job.putBack()
}

function refusalOf({ reason }: UnreadData): { ok: false; reason: string } {
  return { ok: false, reason: `not a job of this service: ${reason}` }
}
