import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import * as z from 'zod'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { messageOf, PermanentError } from '../../shared/errors.ts'
import type { JobQueue, QueueBackend } from './backend.ts'
import {
  MAX_PAYLOAD,
  sealJob,
  type Envelope,
  type JobContent,
  type JobKey,
  type JobPosition,
} from './envelope.ts'

/** One step to be written. */
export interface BatchJob extends JobPosition {
  step: ChainStep
}

/** A job as it was taken from the queue; null where its step is not for this writer, or is not in flight any more. */
export interface TakenBatch extends JobPosition {
  step: ChainStep | null
}

/** Failed jobs that are kept to be looked at; the oldest go first. */
const FAILED_KEPT = 1000

/**
 * Bytes of a step's JSON that may travel in a job: parsed, it takes about the same again in a heap of 192 MiB. Only a job
 * that this service signed is inflated at all.
 */
export const MOST_CARRIED = 48 * 1024 * 1024

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

/**
 * For a writer that begins: jobs of earlier writers are void. A queue that another user of the server has paused or limited
 * works again.
 */
export async function emptyBatchQueue(queue: JobQueue): Promise<void> {
  await queue.drain(true)
  await Promise.all([queue.resume(), queue.removeGlobalConcurrency(), queue.removeGlobalRateLimit()])
}

/**
 * The payload of a job that carries its step: base64 of the deflated JSON. Null where the step is larger than any job may
 * be: its writer must keep it in memory.
 */
export async function packStep(step: ChainStep): Promise<string | null> {
  const text = JSON.stringify(step)
  if (Buffer.byteLength(text) > MOST_CARRIED) return null
  const payload = (await pack(text)).toString('base64')
  return payload.length > MAX_PAYLOAD ? null : payload
}

/**
 * Adds a job that carries its step as `payload`, or names it (null) while its writer keeps the step in memory. The same
 * position twice adds one job; that a step is applied once is decided in Postgres. Returns the job's id.
 */
export async function addBatch(
  queue: JobQueue,
  key: JobKey,
  { step, ...position }: BatchJob,
  payload: string | null,
): Promise<string> {
  const sealed = sealJob(key, { ...position, payload })
  const jobId = jobIdOf(sealed)
  await queue.add(step.type, sealed, { jobId, removeOnComplete: true, removeOnFail: { count: FAILED_KEPT } })
  return jobId
}

/** Ends in the signature: BullMQ ignores a job whose id is taken, so nobody else may foresee it. */
export function jobIdOf({ writerEpoch, sequence, mac }: Envelope): string {
  return `epoch-${writerEpoch}-${sequence}-${mac}`
}

/** What one writer has of the steps that it put into the queue. */
export interface StepsInHand {
  /** The step of a job, for as long as it is in memory. */
  stepOf: (position: JobPosition) => ChainStep | undefined
  /** Whether this writer waits for a step to be written. */
  isInFlight: (position: JobPosition) => boolean
  /** Whether a step is of a writer that came after this one. */
  isOfLater: (position: JobPosition) => boolean
}

/**
 * The step of a job whose signature was verified: the one in memory, or the one that the job carries. A job that was
 * delivered again after its step was written has none. Rejects with a PermanentError when the payload is no step.
 */
export async function readBatch(
  { payload, ...position }: JobContent,
  hand: StepsInHand,
): Promise<TakenBatch> {
  const known = hand.stepOf(position)
  if (known !== undefined) return { ...position, step: known }
  if (payload === null || !hand.isInFlight(position)) return { ...position, step: null }
  const step: unknown = await unpack(payload)
  if (!stepSchema.safeParse(step).success)
    throw new PermanentError('a step cannot be unpacked: it is of no known type')
  // This service's own source made it, as the signature shows.
  return { ...position, step: step as ChainStep }
}

/**
 * zlib gives the thread a turn after each chunk. A packed step is a quarter to a third of its text: one or two chunks
 * instead of the seventy that Node's default of 16 kB makes of a large one.
 */
function pack(text: string): Promise<Buffer> {
  const chunkSize = Math.max(LEAST_CHUNK_BYTES, Math.ceil(text.length / 3))
  return deflate(text, { level: 1, chunkSize })
}

async function unpack(packed: string): Promise<unknown> {
  try {
    const text = await inflate(Buffer.from(packed, 'base64'), {
      chunkSize: UNPACKED_CHUNK_BYTES,
      maxOutputLength: MOST_CARRIED,
    })
    return JSON.parse(text.toString('utf8'))
  } catch (error) {
    throw new PermanentError(`a step cannot be unpacked: ${messageOf(error)}`)
  }
}
