import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import {
  MAX_HANDED_IN_STATEMENT,
  parseHandedIn,
  VOUCHER_QUEUE,
  type HandedIn,
} from '../../shared/events/handed-in.ts'
import type { JobWorker, QueueBackend, ReceivedJob } from './backend.ts'
import type { DeadJob } from './dead-letters.ts'

export interface VoucherHandling<Outcome> {
  /** Judges and writes one. `networkId` is null where the job names none. */
  ingest: (networkId: string | null, item: HandedIn) => Promise<Outcome>
  /** Why it was refused; null when it was not. */
  refusalOf: (outcome: Outcome) => string | null
  /** Whether the same may succeed when tried again. */
  isRetryable: (error: unknown) => boolean
  onDone: (outcome: Outcome, data: unknown) => Promise<void> | void
  onRetry: (error: unknown) => void
  /** Must keep it: nothing of the job is left afterwards. */
  onDead: (job: DeadJob) => Promise<void>
  signal: AbortSignal
}

/**
 * For so long a job belongs to a process that says nothing any more; one that lives says it twice in this time. BullMQ looks so
 * often, whatever starts meanwhile, for jobs that are nobody's, and takes one back at the second look: what a killed process
 * had in hand waits for two to three times this.
 */
const LOCK_MS = 5_000
/** Garbage in hand at once: its dead letters share a transaction. How many of them ask the database is up to `ingest`. */
const CONCURRENCY = 64
/** Characters of a job: a statement of characters that JSON writes as six, and its signature. */
export const MOST_VOUCHER_CHARACTERS = 6 * MAX_HANDED_IN_STATEMENT + 1_024
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 5_000

/**
 * Takes what is handed in. Every job ends in one of three ways: written, kept as a dead letter with its reason, or, when
 * this worker stops while the database is away, put back for the next one. A producer's job options cannot make finished
 * jobs pile up here more than they ask for; without options none stays.
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
    // Jobs are bounded before they are parsed, so a stall is a killed process and not the job's fault. Taking a voucher
    // twice is no harm, losing one is; a job that stalls more often stays with the failed jobs.
    maxStalledCount: 20,
    removeOnComplete: { count: 0 },
    // Only what no handling foresaw fails.
    removeOnFail: { count: 1_000 },
  })
}

async function handleJob<Outcome>(job: ReceivedJob, handling: VoucherHandling<Outcome>): Promise<void> {
  const parsed = job.unread === undefined ? parseHandedIn(job.data) : ({ ok: false, ...job.unread } as const)
  if (!parsed.ok) {
    const dead = { ...deadJob(job, null, parsed.reason), isMalformed: true }
    await patiently(job, handling, () => handling.onDead(dead))
    return
  }
  const { networkId, item } = parsed
  await patiently(job, handling, async () => {
    const outcome = await handling.ingest(networkId, item).catch((error: unknown) => {
      if (handling.isRetryable(error)) throw error
      return new Unexpected(messageOf(error))
    })
    const reason = outcome instanceof Unexpected ? outcome.message : handling.refusalOf(outcome)
    if (reason !== null) await handling.onDead(deadJob(job, networkId, reason))
    if (!(outcome instanceof Unexpected)) await handling.onDone(outcome, job.data)
  })
}

/** A fault of ours that a retry would not mend: the job is kept with it. */
class Unexpected extends Error {}

function deadJob(job: ReceivedJob, networkId: string | null, reason: string): DeadJob {
  const { id: jobId, data, unread } = job
  return { queue: VOUCHER_QUEUE, jobId, networkId, data, unread, reason, isMalformed: false }
}

/** Until it is done; put back when this worker stops first. */
async function patiently<Outcome>(
  job: ReceivedJob,
  { isRetryable, onRetry, signal }: VoucherHandling<Outcome>,
  work: () => Promise<void>,
): Promise<void> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      await work()
      return
    } catch (error) {
      if (!isRetryable(error)) throw error
      onRetry(error)
      await sleep(delayMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return job.putBack()
    }
  }
}
