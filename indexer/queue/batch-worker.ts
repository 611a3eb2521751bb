import { UnrecoverableError } from 'bullmq'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import { batchQueueName, parseBatch, type BatchJob, type BatchKey, type StepsInHand } from './batch-queue.ts'

export interface BatchHandling<Outcome> {
  /** Writes one step. */
  ingest: (job: BatchJob) => Promise<Outcome>
  /** Whether the same may succeed when tried again; anything else makes the job a dead letter. */
  isRetryable: (error: unknown) => boolean
  onDone: (job: BatchJob, outcome: Outcome) => void
  onRetry: (job: BatchJob, error: unknown) => void
  onDead: (job: BatchJob | undefined, error: unknown) => void
  /** A job came that only a later writer can write. */
  onElsewhere: (key: BatchKey) => void
  hand: StepsInHand
  signal: AbortSignal
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
  network: string,
  handling: BatchHandling<Outcome>,
): JobWorker {
  return backend.openWorker(batchQueueName(network), (job) => handleJob(job, handling), {
    concurrency: 1,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
    // Delivered again as often as it takes: applying a step twice is no harm, losing one is.
    maxStalledCount: 100,
  })
}

async function handleJob<Outcome>(received: ReceivedJob, handling: BatchHandling<Outcome>): Promise<unknown> {
  let job: BatchJob | undefined
  let isElsewhere = false
  try {
    const { step, ...key } = await parseBatch(received.data, handling.hand)
    if (step !== null) {
      job = { ...key, step }
      const outcome = await ingestPatiently(job, handling)
      if (outcome === LEFT) return null
      handling.onDone(job, outcome)
      return outcome
    }
    // Of an earlier writer it is void, and of this one it was written, or is not waited for any more.
    isElsewhere = handling.hand.isOfLater(key)
    if (isElsewhere) handling.onElsewhere(key)
  } catch (error) {
    handling.onDead(job, error)
    throw new UnrecoverableError(messageOf(error))
  }
  return isElsewhere ? received.putBack() : null
}

/** Not written, for the database was away until it was time to stop. Whoever writes next reads from where Postgres stands. */
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
