import { UnrecoverableError } from 'bullmq'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import type { UnreadData } from './bounded-jobs.ts'
import { batchQueueName, readBatch, type BatchJob, type StepsInHand } from './batch-queue.ts'
import { MAX_ENVELOPE, openJob, type JobKey, type JobPosition } from './envelope.ts'

export interface BatchHandling<Outcome> {
  /** Writes one step. */
  ingest: (job: BatchJob) => Promise<Outcome>
  /** Whether the same may succeed when tried again; anything else makes the job a dead letter. */
  isRetryable: (error: unknown) => boolean
  onDone: (job: BatchJob, outcome: Outcome) => void
  onRetry: (job: BatchJob, error: unknown) => void
  /** A job of this service could not be written, whatever is tried. */
  onDead: (dead: {
    jobId: string | null
    position: JobPosition
    step: ChainStep | null
    error: unknown
  }) => void
  /** A job that no indexer of this service made for this network; it changed nothing. */
  onRefused: (refused: RefusedJob) => Promise<void>
  /** A job came that only a later writer can write. */
  onElsewhere: (position: JobPosition) => void
  hand: StepsInHand
  signal: AbortSignal
}

export interface RefusedJob {
  jobId: string | null
  data: unknown
  /** Set where the data were never read. */
  unread: UnreadData | undefined
  reason: string
}

/** Longer than any transaction of a batch may take; a worker that is frozen for longer loses its job to another. */
const LOCK_MS = 30_000
const FIRST_RETRY_MS = 100
/** A database that is there again is noticed well within five seconds. */
const LAST_RETRY_MS = 1_000

/**
 * Takes a network's steps one after the other. A step that cannot be written now is tried again in place, for the
 * steps behind it could not be written either.
 */
export function startBatchWorker<Outcome>(
  backend: QueueBackend,
  key: JobKey,
  handling: BatchHandling<Outcome>,
): JobWorker {
  return backend.openWorker(batchQueueName(key.network), (job) => handleJob(job, key, handling), {
    concurrency: 1,
    mostCharacters: MAX_ENVELOPE,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
    // A step whose job is given up is missed (see watchJobs) and read again.
    maxStalledCount: 3,
    // Only jobs of this service fail, and say themselves how many of them are kept.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 1_000 },
  })
}

async function handleJob<Outcome>(
  received: ReceivedJob,
  key: JobKey,
  handling: BatchHandling<Outcome>,
): Promise<unknown> {
  const { id: jobId, unread, data } = received
  const opened = unread === undefined ? openJob(key, data) : refusalOf(unread)
  if (!opened.ok) {
    await handling.onRefused({ jobId, data, unread, reason: opened.reason })
    return null
  }
  const { writerEpoch, sequence } = opened.content
  const position = { writerEpoch, sequence }
  if (handling.hand.isOfLater(position)) {
    handling.onElsewhere(position)
    return received.putBack()
  }
  let step: ChainStep | null = null
  try {
    const batch = await readBatch(opened.content, handling.hand)
    step = batch.step
    // Void where an earlier writer added it; else it is written already, or no longer waited for.
    if (step === null) return null
    const job = { ...position, step }
    const outcome = await ingestPatiently(job, handling)
    if (outcome === LEFT) return null
    handling.onDone(job, outcome)
    return outcome
  } catch (error) {
    handling.onDead({ jobId, position, step, error })
    throw new UnrecoverableError(messageOf(error))
  }
}

function refusalOf({ reason }: UnreadData): { ok: false; reason: string } {
  return { ok: false, reason: `not a job of this service: ${reason}` }
}

/** Not written: the database was away until it was time to stop. The next writer reads from the position in Postgres. */
const LEFT = Symbol('left')

async function ingestPatiently<Outcome>(
  job: BatchJob,
  handling: BatchHandling<Outcome>,
): Promise<Outcome | typeof LEFT> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      return await handling.ingest(job)
    } catch (error) {
      if (!handling.isRetryable(error)) throw error
      if (!handling.signal.aborted) {
        handling.onRetry(job, error)
        await sleep(delayMs, undefined, { signal: handling.signal }).catch(() => undefined)
      }
      if (handling.signal.aborted) return LEFT
    }
  }
}
