import * as z from 'zod'
import { webhookQueueName } from '../../shared/config/webhooks.ts'
import type { JobQueue, JobWorker, QueueBackend } from './backend.ts'

export interface Attempts {
  attempts: number
  /** Milliseconds before the second attempt; each further pause is twice as long. */
  backoffMs: number
}

/** About three hours between the first attempt and the last. */
export const ATTEMPTS: Attempts = { attempts: 12, backoffMs: 5_000 }

/** A live worker renews it twice in this time. The jobs of a killed process wait one to three times this. */
const LOCK_MS = 5_000
/** Deliveries to one receiver at once. */
const CONCURRENCY = 4
const MOST_CHARACTERS = 1_000

/**
 * A job names a message of the outbox and carries nothing else, so that whoever can write to the queue can only have a true
 * message sent sooner.
 */
const jobSchema = z.strictObject({ id: z.string().max(64) })

export function openWebhookQueue(backend: QueueBackend, webhook: string): JobQueue {
  return backend.openQueue(webhookQueueName(webhook))
}

/** Adds a message's job, unless the queue has it. Nothing stays in the queue afterwards. */
export async function addWebhookJob(
  queue: JobQueue,
  id: string,
  { attempts, backoffMs }: Attempts,
): Promise<void> {
  await queue.add(
    'message',
    { id },
    {
      jobId: `message-${id}`,
      attempts,
      backoff: { type: 'exponential', delay: backoffMs, jitter: 0.2 },
      removeOnComplete: true,
      removeOnFail: true,
    },
  )
}

/** Hands over the id of each message that is due; a rejection asks for another attempt. Ignores jobs of another form. */
export function startWebhookWorker(
  backend: QueueBackend,
  webhook: string,
  send: (id: string, attempt: { isLast: boolean }) => Promise<void>,
): JobWorker {
  return backend.openWorker(
    webhookQueueName(webhook),
    async ({ data, isLastAttempt }) => {
      const parsed = jobSchema.safeParse(data)
      if (parsed.success) await send(parsed.data.id, { isLast: isLastAttempt })
    },
    {
      concurrency: CONCURRENCY,
      ...{ lockDuration: LOCK_MS, stalledInterval: LOCK_MS, maxStalledCount: 20 },
      ...{ removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
      mostCharacters: MOST_CHARACTERS,
    },
  )
}
