import { base64pad } from 'multiformats/bases/base64'
import { BadAnswer } from '../rpc/rpc-error.ts'

/** (pure) Readers for single fields of a node's answer; each throws a BadAnswer for an invalid value. */

export function record(value: unknown, what: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw new BadAnswer(`${what}: malformed`)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list; Go writes an empty one as null. */
export function itemsOf(value: unknown, what: string): unknown[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value
  throw new BadAnswer(`${what}: no list`)
}

export function cidOf(value: unknown, what: string): string {
  const cid = isRecord(value) ? value['/'] : undefined
  if (typeof cid === 'string' && /^[A-Za-z0-9]{8,256}$/.test(cid)) return cid
  throw new BadAnswer(`${what}: malformed`)
}

/** A whole number from 0 to 2^53. */
export function wholeNumber(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new BadAnswer(`${what}: malformed`)
}

/** A bare number of any size. */
export function integer(value: unknown, what: string): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw new BadAnswer(`${what}: malformed`)
}

/** An amount as decimal text. */
export function amount(value: unknown, what: string): bigint {
  if (typeof value === 'string' && /^-?\d{1,400}$/.test(value)) return BigInt(value)
  throw new BadAnswer(`${what}: malformed`)
}

export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new BadAnswer(`${what}: malformed`)
}

/** Standard base64, in its one spelling; Go writes empty bytes as null. */
export function bytesOf(value: unknown, what: string): Uint8Array {
  if (value === null || value === undefined) return new Uint8Array()
  const text = textOf(value, what)
  try {
    if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return base64pad.baseDecode(text)
  } catch {
    // Its last character has stray bits.
  }
  throw new BadAnswer(`${what}: no base64`)
}
