import type { JobQueue, QueueBackend } from './backend.ts'
import { sealJob, type Envelope, type JobContent, type JobKey } from './envelope.ts'

/** Failed jobs that are kept to be looked at; the oldest go first. */
export const FAILED_KEPT = 1_000
/** Tries of a step that fails for another reason than a database that is away, and the time between two. */
const ATTEMPTS = 3
const BACKOFF_MS = 200

/** One queue per network: its order is the network's order, and networks run side by side. */
export function stepQueueName(network: string): string {
  return `steps-${network.replaceAll(':', '-')}`
}

export function openStepQueue(backend: QueueBackend, network: string): JobQueue {
  return backend.openQueue(stepQueueName(network))
}

/** Lets a queue that another user of the server has paused or limited work again. */
export async function unblockQueue(queue: JobQueue): Promise<void> {
  await Promise.all([queue.resume(), queue.removeGlobalConcurrency(), queue.removeGlobalRateLimit()])
}

/**
 * Adds a job. The same content twice adds one job; that a step is applied once is decided in Postgres. Returns its id, which
 * ends in the signature: BullMQ ignores a job whose id is taken, so nobody else may foresee it.
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
