import { z } from 'zod'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { PermanentError } from '../../shared/errors.ts'
import type { JobQueue, QueueBackend } from './backend.ts'

/** What a job carries: one step, and the writer that read it. A job of an earlier writer is void. */
export interface BatchJob {
  writerEpoch: number
  /** 1, 2, 3 … within one writer epoch. */
  sequence: number
  step: ChainStep
}

/** Failed jobs that are kept to be looked at; the oldest go first. */
const FAILED_KEPT = 1000

const frameSchema = z.object({
  writerEpoch: z.int().positive(),
  sequence: z.int().positive(),
  step: z.looseObject({ type: z.enum(['blocks', 'reorg', 'finalized']) }),
})

/** One queue per network: its order is the network's order, and networks run side by side. */
export function batchQueueName(network: string): string {
  return `batches-${network.replaceAll(':', '-')}`
}

export function openBatchQueue(backend: QueueBackend, network: string): JobQueue {
  return backend.openQueue(batchQueueName(network))
}

export function batchJobId({ writerEpoch, sequence }: BatchJob): string {
  return `epoch-${writerEpoch}-${sequence}`
}

/** The id saves work when a step is added twice; that it is applied once is decided in Postgres. */
export async function addBatch(queue: JobQueue, job: BatchJob): Promise<void> {
  await queue.add(job.step.type, job, {
    jobId: batchJobId(job),
    removeOnComplete: true,
    removeOnFail: { count: FAILED_KEPT },
  })
}

/** Throws a PermanentError when the data are no batch of this service. */
export function parseBatch(data: unknown): BatchJob {
  const parsed = frameSchema.safeParse(data)
  if (!parsed.success)
    throw new PermanentError(`not a batch: ${parsed.error.issues[0]?.message ?? 'malformed'}`)
  // The frame is checked; the step inside was made by this service's own source.
  return data as BatchJob
}
