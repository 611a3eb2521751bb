import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import type { JobQueue, QueueBackend } from './backend.ts'

/**
 * One queue for all Filecoin networks: a job's data say which network they are for. Anybody who may write to it hands
 * in vouchers; what a job may hold is `parseHandedIn` of shared/events/handed-in.ts, and who signed it is verified.
 */
export function openVoucherQueue(backend: QueueBackend): JobQueue {
  return backend.openQueue(VOUCHER_QUEUE)
}

/**
 * Hands in a job's data as they are. Under the same `id` a job is added once while it waits; nothing of it stays in the
 * queue afterwards, for what is refused is kept in Postgres.
 */
export async function addVoucher(queue: JobQueue, data: unknown, id: string): Promise<void> {
  await queue.add('voucher', data, { jobId: `voucher-${id}`, removeOnComplete: true, removeOnFail: true })
}
