import { UnrecoverableError } from 'bullmq'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, PermanentError } from '../../shared/errors.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import type { UnreadData } from './bounded-jobs.ts'
import { MAX_ENVELOPE, openJob, type JobKey, type StepPlace } from './envelope.ts'
import { GatheredParts, stepOf } from './step-jobs.ts'
import { FAILED_KEPT, stepQueueName } from './step-queue.ts'

/** A step as it came from the queue. */
export interface TakenStep extends StepPlace {
  step: ChainStep
}

/**
 * Results of a job that wrote nothing because of its parts; BullMQ keeps a job's result, and the reader hears of it.
 * `more`: parts of its step are missing yet. `incomplete`: they never will come.
 */
export type PartOutcome = 'more' | 'incomplete'

export interface StepHandling<Outcome> {
  /** Writes one step. */
  ingest: (taken: TakenStep) => Promise<Outcome>
  /** Whether this writer may not write any more: the job is left to the one that may. */
  isSuperseded: (outcome: Outcome) => boolean
  /** Whether the database is away or busy: then the same succeeds later. */
  isRetryable: (error: unknown) => boolean
  onTaken: () => void
  onDone: (taken: TakenStep, outcome: Outcome) => void
  onRetry: (taken: TakenStep, error: unknown) => void
  /** A step could not be written; `isLast`: it is a dead letter now. */
  onFailed: (failed: {
    jobId: string | null
    step: ChainStep | null
    error: unknown
    isLast: boolean
  }) => void
  /** A job that no indexer of this service made for this network; it changed nothing. */
  onRefused: (refused: RefusedJob) => Promise<void>
  signal: AbortSignal
}

export interface RefusedJob {
  jobId: string | null
  data: unknown
  /** Set where the data were never read. */
  unread: UnreadData | undefined
  reason: string
}

/** Longer than any transaction of a step may take; a worker that is frozen for longer loses its job to another. */
const LOCK_MS = 30_000
const FIRST_RETRY_MS = 100
/** A database that is there again is noticed well within five seconds. */
const LAST_RETRY_MS = 1_000

/**
 * Takes a network's steps one after the other. While the database is away a step is tried again in place: BullMQ's attempts
 * would let the steps behind it pass, and with the queue in Postgres the queue is away as well.
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
    // A step whose job is given up is missed by its reader and read again.
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
    // Completed, and so removed: strangers' jobs are kept as dead letters in Postgres and do not fill the queue's server.
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
    outcome = await ingestPatiently(taken, handling)
    if (outcome !== LEFT && !handling.isSuperseded(outcome)) {
      handling.onDone(taken, outcome)
      return outcome
    }
  } catch (error) {
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

/** Not written: the database was away until it was time to stop. */
const LEFT = Symbol('left')

async function ingestPatiently<Outcome>(
  taken: TakenStep,
  handling: StepHandling<Outcome>,
): Promise<Outcome | typeof LEFT> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      return await handling.ingest(taken)
    } catch (error) {
      if (!handling.isRetryable(error)) throw error
      if (!handling.signal.aborted) {
        handling.onRetry(taken, error)
        await sleep(delayMs, undefined, { signal: handling.signal }).catch(() => undefined)
      }
      if (handling.signal.aborted) return LEFT
    }
  }
}
