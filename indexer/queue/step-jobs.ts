import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { messageOf, PermanentError } from '../../shared/errors.ts'
import { MAX_PAYLOAD, MOST_PARTS, type JobContent, type StepPlace, type StepSummary } from './envelope.ts'
import { textOf, type EncodedStep } from './join-steps.ts'
import { parseStep } from './step-schema.ts'

/** Characters of a step's JSON up to which it is not deflated, so that people can read it. */
const PLAIN = 16 * 1024
/** Bytes of a step's JSON: parsed, it takes about the same again in a heap of 192 MiB. */
export const MOST_INFLATED = 48 * 1024 * 1024

const LEAST_CHUNK_BYTES = 4 * 1024
const INFLATED_CHUNK_BYTES = 256 * 1024

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** Makes the jobs that carry a step: one, or its parts in order. Rejects with a PermanentError if a writer would refuse its size. */
export async function jobsOf(place: StepPlace, step: EncodedStep): Promise<JobContent[]> {
  const text = textOf(step)
  const common = { ...place, summary: summaryOf(step) }
  if (text.length <= PLAIN && !NOT_IN_JSONB.test(text))
    return [{ ...common, part: 1, parts: 1, step: JSON.parse(text) as unknown }]
  const bytes = Buffer.byteLength(text)
  // Node hands over after each chunk: two chunks cost less than the many of its default size of 16 kB.
  const chunkSize = Math.max(LEAST_CHUNK_BYTES, Math.ceil(text.length / 3))
  const packed = (await deflate(text, { level: 1, chunkSize })).toString('base64')
  const parts = Math.ceil(packed.length / MAX_PAYLOAD)
  if (bytes > MOST_INFLATED || parts > MOST_PARTS)
    throw new PermanentError(`a step of ${bytes} bytes is larger than a writer takes (${MOST_INFLATED})`)
  return Array.from({ length: parts }, (_, index) => ({
    ...{ ...common, part: index + 1, parts },
    payload: packed.slice(index * MAX_PAYLOAD, (index + 1) * MAX_PAYLOAD),
  }))
}

/** JSON that `jsonb` refuses: NUL, and half a surrogate pair. */
const NOT_IN_JSONB = /\\u(0000|d[89a-f])/

function summaryOf({ head, kinds }: EncodedStep): StepSummary {
  const { type } = head
  if (type === 'finalized') return { type, from: head.block.number, to: head.block.number, events: {} }
  const from = type === 'blocks' ? head.from : head.ancestor.number + 1
  return { type, from, to: head.to.number, events: kinds }
}

/** The step in a whole job whose signature was verified. Rejects with a PermanentError if it holds none. */
export async function stepOf({
  step,
  payload,
}: {
  step?: unknown
  payload?: string | undefined
}): Promise<ChainStep> {
  const parsed = parseStep(payload === undefined ? step : await unpack(payload))
  if (!parsed.ok) throw new PermanentError(`a job holds no step: ${parsed.reason}`)
  return parsed.step
}

async function unpack(payload: string): Promise<unknown> {
  try {
    const text = await inflate(Buffer.from(payload, 'base64'), {
      chunkSize: INFLATED_CHUNK_BYTES,
      maxOutputLength: MOST_INFLATED,
    })
    return JSON.parse(text.toString('utf8'))
  } catch (error) {
    throw new PermanentError(`a step cannot be unpacked: ${messageOf(error)}`)
  }
}

/**
 * The parts of one step that came so far. A part of another step, or one out of turn, ends it: its reader is gone, or will read
 * those blocks again.
 */
export class GatheredParts {
  #place = ''
  #payloads: string[] = []

  /** Returns the whole payload with the last part, `more` before it, and `incomplete` if an earlier part is missing. */
  add({
    readerEpoch,
    sequence,
    part,
    parts,
    payload = '',
  }: JobContent): { payload: string } | 'more' | 'incomplete' {
    const place = `${readerEpoch}-${sequence}-${parts}`
    if (part === 1 || place !== this.#place) this.#payloads = []
    this.#place = place
    if (part !== this.#payloads.length + 1) return 'incomplete'
    this.#payloads.push(payload)
    if (part < parts) return 'more'
    const whole = this.#payloads.join('')
    this.#payloads = []
    return { payload: whole }
  }
}
