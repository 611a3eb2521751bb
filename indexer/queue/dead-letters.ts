import { webhookOfQueue } from '../../shared/config/webhooks.ts'
import { parseHandedIn } from '../../shared/events/handed-in.ts'
import type { JobQueue } from './backend.ts'
import type { UnreadData } from './bounded-jobs.ts'
import { addVoucher } from './voucher-queue.ts'

/** A job that can never succeed. Postgres keeps it, not the queue. */
export interface DeadJob {
  queue: string
  jobId: string | null
  networkId: string | null
  data: unknown
  reason: string
  /** True if its form is that of no voucher and no statement. */
  isMalformed: boolean
  /** Set if the data were never parsed. */
  unread: UnreadData | undefined
}

/** A dead letter as Postgres has it. */
export interface KeptDeadJob {
  id: number
  queue: string
  payload: unknown
  isCut: boolean
  attempts: number
}

/** The reason why a dead letter cannot be handed in or sent again; null if it can. */
export function whyNotRetried({ queue, payload, isCut }: KeptDeadJob): string | null {
  if (queue.startsWith('steps-'))
    return 'a step of blocks is not queued again: the indexer reads those blocks again by itself'
  if (webhookOfQueue(queue) !== undefined) return isCut ? 'only its beginning was kept' : null
  if (isCut) return 'only its beginning was kept: it is no voucher and no statement'
  const parsed = parseHandedIn(payload)
  return parsed.ok ? null : `it would be refused again: ${parsed.reason}`
}

/**
 * Hands a dead letter in again, whichever way it came. It is removed once accepted; a refusal adds to its attempts.
 */
export async function retryDeadJob(queue: JobQueue, { id, payload, attempts }: KeptDeadJob): Promise<void> {
  await addVoucher(queue, payload, `retry-${id}-${attempts}`)
}
