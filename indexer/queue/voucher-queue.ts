import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import type { JobQueue, QueueBackend } from './backend.ts'

/**
 * One queue for all Filecoin networks; a job's data name the network. Anybody who may write to it can hand in vouchers:
 * `parseHandedIn` (shared/events/handed-in.ts) checks their form, and the writer their signature.
 */
export function openVoucherQueue(backend: QueueBackend): JobQueue {
  return backend.openQueue(VOUCHER_QUEUE)
}

/**
 * Hands in a job's data unchanged. A job whose `id` already waits is not added again. Nothing stays in the queue afterwards:
 * Postgres keeps refused jobs.
 */
export async function addVoucher(queue: JobQueue, data: unknown, id: string): Promise<void> {
  await queue.add('voucher', data, { jobId: `voucher-${id}`, removeOnComplete: true, removeOnFail: true })
}
