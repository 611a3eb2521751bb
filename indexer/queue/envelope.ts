import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'

/** Signs the jobs of one network: jobs that somebody else put into its queue are told apart by it. */
export interface JobKey {
  /** The network's key, such as `evm:1`. It is signed: a job of one network is no job of another. */
  network: string
  /** 32 bytes that only the indexer's role can read from the database. */
  secret: Uint8Array
}

/** A job's place: the writer that read its step, and the step's number. A job of an earlier writer is void. */
export interface JobPosition {
  writerEpoch: number
  /** 1, 2, 3 … within one writer epoch. */
  sequence: number
}

export interface JobContent extends JobPosition {
  /** Base64 of the deflated JSON of a step; null where the writer keeps the step in memory. */
  payload: string | null
}

/** The data of a job. */
export interface Envelope extends JobContent {
  v: typeof VERSION
  network: string
  /** Base64url of HMAC-SHA-256. */
  mac: string
}

const VERSION = 1
/** Characters of a payload. Incompressible hex of 12 MiB fits; a block of 60 million gas cannot log more. */
export const MAX_PAYLOAD = 8 * 1024 * 1024
/** Characters of an envelope as JSON. */
export const MAX_ENVELOPE = MAX_PAYLOAD + 1024

const envelopeSchema = z.strictObject({
  v: z.literal(VERSION),
  network: z.string().max(64),
  writerEpoch: z.int().positive(),
  sequence: z.int().positive(),
  payload: z.string().max(MAX_PAYLOAD).nullable(),
  mac: z.string().length(43),
})

export function sealJob(key: JobKey, { writerEpoch, sequence, payload }: JobContent): Envelope {
  const content = { v: VERSION, network: key.network, writerEpoch, sequence, payload } as const
  return { ...content, mac: macOf(key.secret, content).toString('base64url') }
}

/** The content of a job that this service made for this network, or the reason why the data are none. Never throws. */
export function openJob(
  key: JobKey,
  data: unknown,
): { ok: true; content: JobContent } | { ok: false; reason: string } {
  const parsed = envelopeSchema.safeParse(data)
  if (!parsed.success) return { ok: false, reason: 'not a job of this service: its form is wrong' }
  const { v, network, writerEpoch, sequence, payload, mac } = parsed.data
  if (network !== key.network) return { ok: false, reason: 'not a job of this network' }
  const expected = macOf(key.secret, { v, network, writerEpoch, sequence, payload })
  const given = Buffer.from(mac, 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return { ok: false, reason: 'not a job of this service: its signature is wrong' }
  return { ok: true, content: { writerEpoch, sequence, payload } }
}

/**
 * The signed bytes: a line of JSON that fixes every field and the payload's length, then the payload. No two contents have
 * the same bytes, for JSON text of these types has one spelling and holds no line break.
 */
function macOf(secret: Uint8Array, content: Omit<Envelope, 'mac'>): Buffer {
  const { v, network, writerEpoch, sequence, payload } = content
  const header = ['loan-activity job', v, network, writerEpoch, sequence, payload?.length ?? null]
  return createHmac('sha256', secret)
    .update(`${JSON.stringify(header)}\n`)
    .update(payload ?? '')
    .digest()
}
