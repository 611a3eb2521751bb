import { decodeAddress, type FilecoinAddress } from './address.ts'
import { DecodeError } from './decode-error.ts'

/** Readers for the values that `decodeCbor` returns. Each takes the field's name for its error. */

const UINT64_LIMIT = 1n << 64n
const INT64_LIMIT = 1n << 63n

/** Reads an array whose length is one of `lengths`. */
export function readTuple(value: unknown, lengths: readonly number[], field: string): unknown[] {
  const items = readArray(value, field)
  if (!lengths.includes(items.length)) {
    throw new DecodeError(`${field}: ${items.length} items, not ${lengths.join(' or ')}`)
  }
  return items
}

export function readArray(value: unknown, field: string): unknown[] {
  if (!Array.isArray(value)) throw new DecodeError(`${field}: no array`)
  return value
}

export function readBytes(value: unknown, field: string): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new DecodeError(`${field}: no bytes`)
  return value
}

export function readUint64(value: unknown, field: string): bigint {
  const integer = readInteger(value, field)
  if (integer < 0n || integer >= UINT64_LIMIT) throw new DecodeError(`${field}: not from 0 to 2^64-1`)
  return integer
}

export function readInt64(value: unknown, field: string): bigint {
  const integer = readInteger(value, field)
  if (integer < -INT64_LIMIT || integer >= INT64_LIMIT) throw new DecodeError(`${field}: not within 64 bits`)
  return integer
}

function readInteger(value: unknown, field: string): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw new DecodeError(`${field}: no integer`)
}

export function readAddress(value: unknown, field: string): FilecoinAddress {
  const address = decodeAddress(readBytes(value, field))
  if (address === null) throw new DecodeError(`${field}: no address`)
  return address
}

/** Used when encoding: an integer that its field cannot hold is the caller's mistake. */
export function inUint64(value: bigint, field: string): bigint {
  if (value < 0n || value >= UINT64_LIMIT) throw new RangeError(`${field}: not from 0 to 2^64-1`)
  return value
}

export function inInt64(value: bigint, field: string): bigint {
  if (value < -INT64_LIMIT || value >= INT64_LIMIT) throw new RangeError(`${field}: not within 64 bits`)
  return value
}
