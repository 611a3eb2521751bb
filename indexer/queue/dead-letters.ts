import { parseHandedIn } from '../../shared/events/handed-in.ts'
import type { JobQueue } from './backend.ts'
import type { UnreadData } from './bounded-jobs.ts'
import { addVoucher } from './voucher-queue.ts'

/** A job that can never be done; it is kept in Postgres and not in the queue. */
export interface DeadJob {
  queue: string
  jobId: string | null
  networkId: string | null
  data: unknown
  reason: string
  /** It is no voucher and no statement by its form. */
  isMalformed: boolean
  /** Set where the data were never read. */
  unread: UnreadData | undefined
}

/** As it was kept. */
export interface KeptDeadJob {
  id: number
  queue: string
  payload: unknown
  isCut: boolean
  attempts: number
}

/** Whether handing it in once more can be tried; otherwise the reason why not. */
export function whyNotRetried({ queue, payload, isCut }: KeptDeadJob): string | null {
  if (queue.startsWith('steps-'))
    return 'a step of blocks is not queued again: the indexer reads those blocks again by itself'
  if (isCut) return 'only its beginning was kept: it is no voucher and no statement'
  const parsed = parseHandedIn(payload)
  return parsed.ok ? null : `it would be refused again: ${parsed.reason}`
}

/**
 * Hands a dead letter in again; it is gone once it is accepted, and counts up when it is refused. Ways in other than the
 * queue are retried through it as well.
 */
export async function retryDeadJob(queue: JobQueue, { id, payload, attempts }: KeptDeadJob): Promise<void> {
  await addVoucher(queue, payload, `retry-${id}-${attempts}`)
}
