import { parseAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { unreadable } from './rpc-error.ts'
import { parseCid } from '../../../shared/filecoin/block-cid.ts'

/** Readers for callers' parameters; each refuses like a node that cannot unmarshal a parameter. */

export function text(value: unknown): string {
  if (typeof value !== 'string') throw unreadable(`unmarshaling params: ${kindOf(value)} into a string`)
  return value
}

export function integer(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw unreadable(`unmarshaling params: ${kindOf(value)} into an integer`)
  }
  return value
}

/** An unsigned 64-bit number. */
export function uint64(value: unknown): bigint {
  const number = typeof value === 'bigint' ? value : BigInt(integer(value))
  if (number < 0n || number >= 1n << 64n) throw unreadable('unmarshaling params: not a 64-bit number')
  return number
}

/** Decimal text of any length. */
export function bigInteger(value: unknown): bigint {
  const digits = text(value)
  if (!/^-?\d{1,400}$/.test(digits)) throw unreadable('unmarshaling params: failed to parse bigint string')
  return BigInt(digits)
}

export function address(value: unknown): FilecoinAddress {
  const parsed = parseAddress(text(value))
  if (parsed === null) throw unreadable('unmarshaling params: invalid address')
  return parsed
}

export function cid(value: unknown): string {
  const name = record(value)['/']
  if (typeof name !== 'string' || parseCid(name) === null)
    throw unreadable('unmarshaling params: invalid cid')
  return name
}

/** CIDs of a tipset's blocks; none when the caller means the head. */
export function tipsetKey(value: unknown): string[] {
  if (value === null || value === undefined) return []
  return list(value).map(cid)
}

/** Base64, null when empty. */
export function bytes(value: unknown): Uint8Array {
  return value === null || value === undefined
    ? new Uint8Array()
    : Uint8Array.from(Buffer.from(text(value), 'base64'))
}

export function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw unreadable(`unmarshaling params: ${kindOf(value)} into a list`)
  return value
}

export function record(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw unreadable(`unmarshaling params: ${kindOf(value)} into an object`)
  return value
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}
