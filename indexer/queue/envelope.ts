import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { canonicalJson } from '../../shared/canonical-json.ts'

/** Signs the jobs of one network, so that the jobs of strangers in its queue are recognized. */
export interface JobKey {
  /** The network's key, such as `evm:1`. It is signed: a job of one network is no job of another. */
  network: string
  /** 32 bytes that only the indexer's role can read from the database. */
  secret: Uint8Array
}

/** The reader session that made a step, and the step's number within it. */
export interface StepPlace {
  /** Each reader session of a network has a higher one than those before. */
  readerEpoch: number
  /** 1, 2, 3 … within one reader epoch. */
  sequence: number
}

/** Shown to people who look at the queue; no code reads it. */
export interface StepSummary {
  type: string
  from: number
  to: number
  /** Events of each kind. */
  events: Record<string, number>
}

/** One job: a step, or one of the `parts` of a large one. */
export interface JobContent extends StepPlace {
  /** 1 … `parts`. */
  part: number
  parts: number
  summary: StepSummary
  /** The whole step, if it is small. */
  step?: unknown
  /** Otherwise this part of the base64 of the step's deflated JSON. */
  payload?: string | undefined
}

/** The data of a job. */
export interface Envelope extends JobContent {
  v: typeof VERSION
  network: string
  /** Base64url of HMAC-SHA-256. */
  mac: string
}

const VERSION = 2
/**
 * Characters of a payload. Measured on both backends: above 200 KB a megabyte costs the same however it is cut, and smaller
 * jobs cost more. The check constraint of `queue.job` and a refused job cost with the size.
 */
export const MAX_PAYLOAD = 512 * 1024
/** Characters of an envelope as JSON; a small step is far below. */
export const MAX_ENVELOPE = MAX_PAYLOAD + 16 * 1024
/** Parts of a step: 32 MiB of base64. Incompressible hex of 48 MiB fits; a block of 60 million gas cannot log more. */
export const MOST_PARTS = 64

const envelopeSchema = z
  .strictObject({
    v: z.literal(VERSION),
    network: z.string().max(64),
    readerEpoch: z.int().positive(),
    sequence: z.int().positive(),
    part: z.int().positive().max(MOST_PARTS),
    parts: z.int().positive().max(MOST_PARTS),
    summary: z.strictObject({
      type: z.string().max(16),
      from: z.int(),
      to: z.int(),
      events: z.record(z.string().max(64), z.int()),
    }),
    step: z.unknown().optional(),
    payload: z.string().max(MAX_PAYLOAD).optional(),
    mac: z.string().length(43),
  })
  .refine(({ part, parts, step, payload }) =>
    step === undefined ? payload !== undefined && part <= parts : payload === undefined && parts === 1,
  )

export function sealJob({ network, secret }: JobKey, content: JobContent): Envelope {
  const unsigned = { v: VERSION, network, ...content } as const
  return { ...unsigned, mac: macOf(secret, unsigned).toString('base64url') }
}

export type Opened = { ok: true; content: JobContent } | { ok: false; reason: string }

/** Returns the content of a job that this service made for this network, or why the data are no such job. Never throws. */
export function openJob(key: JobKey, data: unknown): Opened {
  const parsed = envelopeSchema.safeParse(data)
  if (!parsed.success) return { ok: false, reason: 'not a job of this service: its form is wrong' }
  const { mac, ...unsigned } = parsed.data
  if (unsigned.network !== key.network) return { ok: false, reason: 'not a job of this network' }
  const expected = macOf(key.secret, unsigned)
  const given = Buffer.from(mac, 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return { ok: false, reason: 'not a job of this service: its signature is wrong' }
  return { ok: true, content: unsigned }
}

/** The signed text is canonical: the queue on Postgres keeps a job as `jsonb`, which orders keys anew. */
function macOf(secret: Uint8Array, content: Omit<Envelope, 'mac'>): Buffer {
  return createHmac('sha256', secret)
    .update(`loan-activity job\n${canonicalJson(content)}`)
    .digest()
}
