import { createHash } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'

/** Any data from a queue, in a form that Postgres can store. */
export interface StorablePayload {
  payload: unknown
  /** Bytes of its JSON, or characters if it was never read; 0 without JSON. */
  bytes: number
  /** Whether the payload is only its beginning, as text under `beginning`. */
  isCut: boolean
  /** Digest of the whole payload: equal digests mean equal payloads. */
  digest: string
}

/** More than any voucher or statement has. */
const KEPT_BYTES = 64 * 1024

/**
 * A job has a depth of three. Writing JSON takes time with the square of the depth, and thousands overflow the stack.
 */
const MAX_DEPTH = 256

/**
 * Never throws: data without JSON, or nested too deeply, becomes an empty beginning. A payload above `keptBytes` is
 * cut.
 */
export function storablePayload(data: unknown, keptBytes = KEPT_BYTES): StorablePayload {
  const json = storableJson(data)
  if (json === undefined) {
    return { payload: { beginning: '' }, bytes: 0, isCut: true, digest: digestOf(typeof data) }
  }
  const digest = digestOf(json)
  const bytes = Buffer.byteLength(json)
  if (bytes <= keptBytes) return { payload: JSON.parse(json) as unknown, bytes, isCut: false, digest }
  // The cut may split a surrogate pair, which `storableText` replaces.
  const beginning = storableText(json.slice(0, keptBytes / 4))
  return { payload: { beginning }, bytes, isCut: true, digest }
}

/** Hash of a payload, independent of the order of its keys. */
export function payloadDigest(data: unknown): string {
  return storablePayload(data).digest
}

function storableJson(data: unknown): string | undefined {
  if (nestsDeeperThan(MAX_DEPTH, data)) return undefined
  try {
    const text = JSON.stringify(data, (_, value: unknown) => storableValue(value)) as string | undefined
    return text === undefined ? undefined : canonicalJson(JSON.parse(text))
  } catch {
    return undefined
  }
}

function nestsDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => nestsDeeperThan(depth - 1, inner))
}

/** Converts an object's own names only; `JSON.stringify` visits the values next. */
function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storableText(name), inner]))
}

/** Postgres rejects NUL and half a surrogate pair in JSON. */
function storableText(text: string): string {
  return text.replaceAll(/[\0\p{Cs}]/gu, '\u{FFFD}')
}

function digestOf(json: string): string {
  return createHash('sha256').update(json).digest('hex')
}
