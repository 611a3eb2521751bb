import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { z } from 'zod'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { messageOf, PermanentError } from '../../shared/errors.ts'
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

/** Far above any step, and a bound for what a job that somebody else made can take. */
const MAX_STEP_BYTES = 256 * 1024 * 1024

/**
 * What is in the queue: the step travels as base64 of its deflated JSON. Both backends copy and keep a job's data more
 * than once, and Postgres takes them apart as JSON: a quarter of the size costs a quarter of all that.
 */
const frameSchema = z.object({
  writerEpoch: z.int().positive(),
  sequence: z.int().positive(),
  step: z.string(),
})
const stepSchema = z.looseObject({ type: z.enum(['blocks', 'reorg', 'finalized']) })

const LEAST_CHUNK_BYTES = 4 * 1024
const UNPACKED_CHUNK_BYTES = 256 * 1024

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

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
  const packed = await pack(JSON.stringify(job.step))
  const { writerEpoch, sequence } = job
  const frame = { writerEpoch, sequence, step: packed.toString('base64') }
  await queue.add(job.step.type, frame, {
    jobId: batchJobId(job),
    removeOnComplete: true,
    removeOnFail: { count: FAILED_KEPT },
  })
}

/** What a job is known by. */
export type BatchKey = Omit<BatchJob, 'step'>

/** Finds the step of a job that this process itself put into the queue, for as long as it has it. */
export type FindInHand = (key: BatchKey) => ChainStep | undefined

/**
 * The job that the data are. Its step is what is in hand, and what the data carry is not looked at, or it is unpacked. Rejects
 * with a PermanentError when the data are no batch of this service.
 */
export async function parseBatch(data: unknown, inHand: FindInHand = () => undefined): Promise<BatchJob> {
  const frame = checked(frameSchema, data)
  const known = inHand(frame)
  if (known !== undefined) return { ...frame, step: known }
  const step: unknown = await unpack(frame.step)
  checked(stepSchema, step)
  // The frame is checked; the step inside was made by this service's own source.
  return { ...frame, step: step as ChainStep }
}

/**
 * zlib gives the thread a turn after each chunk. A step is a quarter to a third of its text when it is packed: one or two
 * chunks, where of the 16 kB that node takes otherwise a large one had seventy.
 */
function pack(text: string): Promise<Buffer> {
  const chunkSize = Math.max(LEAST_CHUNK_BYTES, Math.ceil(text.length / 3))
  return deflate(text, { level: 1, chunkSize })
}

async function unpack(packed: string): Promise<unknown> {
  try {
    const text = await inflate(Buffer.from(packed, 'base64'), {
      chunkSize: UNPACKED_CHUNK_BYTES,
      maxOutputLength: MAX_STEP_BYTES,
    })
    return JSON.parse(text.toString('utf8'))
  } catch (error) {
    throw new PermanentError(`not a batch: its step cannot be unpacked (${messageOf(error)})`)
  }
}

function checked<T>(schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data)
  if (parsed.success) return parsed.data
  throw new PermanentError(`not a batch: ${parsed.error.issues[0]?.message ?? 'malformed'}`)
}
