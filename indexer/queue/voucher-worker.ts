import { messageOf } from '../../shared/errors.ts'
import {
  MAX_HANDED_IN_STATEMENT,
  parseHandedIn,
  VOUCHER_QUEUE,
  type HandedIn,
} from '../../shared/events/handed-in.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import type { DeadJob } from './dead-letters.ts'
import { LEFT, patiently } from './patiently.ts'

export interface VoucherHandling<Outcome> {
  /** Judges and writes one. `networkId` is null where the job names none. May reject once `signal` aborts. */
  ingest: (networkId: string | null, item: HandedIn) => Promise<Outcome>
  /** The reason of a refusal; null if it was accepted. */
  refusalOf: (outcome: Outcome) => string | null
  /** True if a later attempt can succeed. */
  isRetryable: (error: unknown) => boolean
  onDone: (outcome: Outcome, data: unknown) => Promise<void> | void
  onRetry: (error: unknown) => void
  /** Must keep the job: the queue does not. */
  onDead: (job: DeadJob) => Promise<void>
  signal: AbortSignal
}

/**
 * A job belongs to its worker for so long after the last renewal; a live worker renews it twice in this time. The jobs of a
 * killed process wait one to three times this, as docs/architecture.md says.
 */
const LOCK_MS = 5_000
/** Jobs taken at once, so that the dead letters of garbage share a transaction. `ingest` limits those that ask the database. */
const CONCURRENCY = 64
/** Characters of a job: a statement whose characters JSON escapes as six each, and its signature. */
export const MOST_VOUCHER_CHARACTERS = 6 * MAX_HANDED_IN_STATEMENT + 1_024

/**
 * Takes handed-in vouchers and statements. Each job is written, kept as a dead letter with its reason, or put back for the next
 * worker if this one stops while the database is away. Finished jobs stay only as far as the producer's options ask for it.
 */
export function startVoucherWorker<Outcome>(
  backend: QueueBackend,
  handling: VoucherHandling<Outcome>,
): JobWorker {
  return backend.openWorker(VOUCHER_QUEUE, (job) => handleJob(job, handling), {
    concurrency: CONCURRENCY,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
    mostCharacters: MOST_VOUCHER_CHARACTERS,
    // A stall is a killed process and not the job's fault, because jobs are bounded before they are parsed. Taking a voucher
    // twice does no harm, losing one does.
    maxStalledCount: 20,
    removeOnComplete: { count: 0 },
    // A job fails only by an error that the handling did not foresee.
    removeOnFail: { count: 1_000 },
  })
}

async function handleJob<Outcome>(job: ReceivedJob, handling: VoucherHandling<Outcome>): Promise<void> {
  const parsed = job.unread === undefined ? parseHandedIn(job.data) : ({ ok: false, ...job.unread } as const)
  if (!parsed.ok) {
    const dead = { ...deadJob(job, null, parsed.reason), isMalformed: true }
    return doneOrPutBack(job, handling, () => handling.onDead(dead))
  }
  const { networkId, item } = parsed
  return doneOrPutBack(job, handling, async () => {
    const outcome = await handling.ingest(networkId, item).catch((error: unknown) => {
      // A stop may close the database under a job.
      if (handling.isRetryable(error) || handling.signal.aborted) throw error
      return new Unexpected(messageOf(error))
    })
    const reason = outcome instanceof Unexpected ? outcome.message : handling.refusalOf(outcome)
    if (reason !== null) await handling.onDead(deadJob(job, networkId, reason))
    if (!(outcome instanceof Unexpected)) await handling.onDone(outcome, job.data)
  })
}

/** A bug that a retry would not mend. The job is kept with its message. */
class Unexpected extends Error {}

function deadJob(job: ReceivedJob, networkId: string | null, reason: string): DeadJob {
  const { id: jobId, data, unread } = job
  return { queue: VOUCHER_QUEUE, jobId, networkId, data, unread, reason, isMalformed: false }
}

/**
 * Puts the job back when this worker stops before it is done. Any failure is repeated: a job that failed would be gone, though
 * Postgres has it neither as a fact nor as a dead letter.
 */
async function doneOrPutBack<Outcome>(
  job: ReceivedJob,
  handling: VoucherHandling<Outcome>,
  work: () => Promise<void>,
): Promise<void> {
  const outcome = await patiently(work, { ...handling, isRetryable: () => true })
  if (outcome === LEFT) await job.putBack()
}
