import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import * as z from 'zod'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { messageOf, PermanentError } from '../../shared/errors.ts'
import type { JobQueue, QueueBackend } from './backend.ts'

/** What a job is known by: the writer that read its step, and which it is. A job of an earlier writer is void. */
export interface BatchKey {
  writerEpoch: number
  /** 1, 2, 3 … within one writer epoch. */
  sequence: number
}

/** One step to be written. */
export interface BatchJob extends BatchKey {
  step: ChainStep
}

/** A job as it was taken from the queue; null where its step is not for this writer, or is not in hand any more. */
export interface TakenBatch extends BatchKey {
  step: ChainStep | null
}

/** Failed jobs that are kept to be looked at; the oldest go first. */
const FAILED_KEPT = 1000

/** Far above any step, and a bound for what a job that somebody else made can take. */
const MAX_STEP_BYTES = 256 * 1024 * 1024

/**
 * What is in the queue: a step's name, for whoever published it has it and is the only one that may write it; whatever ends
 * that writer makes its jobs void. A step that its writer does not keep in memory travels as base64 of its deflated JSON.
 * Both backends copy and keep a job's data more than once, and Postgres takes them apart as JSON.
 */
const frameSchema = z.object({
  writerEpoch: z.int().positive(),
  sequence: z.int().positive(),
  step: z.string().nullable(),
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

export function batchJobId({ writerEpoch, sequence }: BatchKey): string {
  return `epoch-${writerEpoch}-${sequence}`
}

/** A job that carries its step. */
export async function addBatch(queue: JobQueue, { step, ...key }: BatchJob): Promise<void> {
  const packed = await pack(JSON.stringify(step))
  await add(queue, step.type, key, packed.toString('base64'))
}

/** A job that names its step, which its writer keeps in hand until it is written. */
export function addNamedBatch(queue: JobQueue, { step, ...key }: BatchJob): Promise<void> {
  return add(queue, step.type, key, null)
}

/** The id saves work when a step is added twice; that it is applied once is decided in Postgres. */
async function add(queue: JobQueue, name: string, key: BatchKey, step: string | null): Promise<void> {
  await queue.add(
    name,
    { ...key, step },
    { jobId: batchJobId(key), removeOnComplete: true, removeOnFail: { count: FAILED_KEPT } },
  )
}

/** What one writer has of the steps that it put into the queue. */
export interface StepsInHand {
  /** The step of a job, for as long as it is in hand. */
  stepOf: (key: BatchKey) => ChainStep | undefined
  /** Whether a step is of a writer that came after this one. */
  isOfLater: (key: BatchKey) => boolean
}

/**
 * The job that the data are. Its step is what is in hand, or what the data carry. Rejects with a PermanentError when the data
 * are no batch of this service.
 */
export async function parseBatch(data: unknown, hand: StepsInHand): Promise<TakenBatch> {
  const frame = checked(frameSchema, data)
  const known = hand.stepOf(frame)
  if (known !== undefined) return { ...frame, step: known }
  if (frame.step === null || hand.isOfLater(frame)) return { ...frame, step: null }
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
