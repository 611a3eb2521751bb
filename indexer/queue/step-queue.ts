import type { JobQueue, QueueBackend } from './backend.ts'
import { sealJob, type Envelope, type JobContent, type JobKey } from './envelope.ts'

/** Failed jobs that the queue keeps; the oldest go first. */
export const FAILED_KEPT = 1_000
/** Attempts for a step that fails although the database answers, and the pause between two. */
const ATTEMPTS = 3
const BACKOFF_MS = 200

/** One queue per network: its order is the network's order, and networks run side by side. */
export function stepQueueName(network: string): string {
  return `steps-${network.replaceAll(':', '-')}`
}

export function openStepQueue(backend: QueueBackend, network: string): JobQueue {
  return backend.openQueue(stepQueueName(network))
}

/** Undoes a pause or limit that another user of the server has set. */
export async function unblockQueue(queue: JobQueue): Promise<void> {
  await Promise.all([queue.resume(), queue.removeGlobalConcurrency(), queue.removeGlobalRateLimit()])
}

/** Removes the failed steps, which Postgres keeps as dead letters. */
export async function forgetFailedSteps(queue: JobQueue): Promise<void> {
  await queue.clean(0, FAILED_KEPT, 'failed')
}

/**
 * Adds a job and returns its id. The same content twice adds one job. The id ends in the signature, because BullMQ ignores a job
 * whose id is taken: strangers must not foresee it.
 */
export async function addJob(queue: JobQueue, key: JobKey, content: JobContent): Promise<string> {
  const sealed = sealJob(key, content)
  const jobId = jobIdOf(sealed)
  await queue.add(content.summary.type, sealed, {
    jobId,
    attempts: ATTEMPTS,
    backoff: { type: 'fixed', delay: BACKOFF_MS },
    removeOnComplete: true,
    removeOnFail: { count: FAILED_KEPT },
  })
  return jobId
}

export function jobIdOf({ readerEpoch, sequence, part, mac }: Envelope): string {
  return `epoch-${readerEpoch}-${sequence}-${part}-${mac}`
}
