import { bytesToHex, concatBytes } from './bytes.ts'
import { DecodeError } from './decode-error.ts'

/** The chain's limit, including the sign byte. */
const MAX_BYTES = 128

/**
 * Decodes a big integer: empty for zero, else a sign byte (0 plus, 1 minus) and the big-endian magnitude. Throws a
 * {@link DecodeError} for any other encoding, even of the same number.
 */
export function decodeBigInt(bytes: Uint8Array, field = 'big integer'): bigint {
  const value = decodeLooseBigInt(bytes, field)
  if (bytes.length > 0 && (bytes[1] ?? 0) === 0) throw new DecodeError(`${field}: not in its shortest form`)
  return value
}

/**
 * Same as {@link decodeBigInt}, but accepts leading zeros and a signed zero. The chain executes messages with such
 * amounts.
 */
export function decodeLooseBigInt(bytes: Uint8Array, field = 'big integer'): bigint {
  if (bytes.length === 0) return 0n
  if (bytes.length > MAX_BYTES) throw new DecodeError(`${field}: longer than ${MAX_BYTES} bytes`)
  const sign = bytes[0]
  if (sign !== 0 && sign !== 1) throw new DecodeError(`${field}: sign byte is neither 0 nor 1`)
  const magnitude = BigInt(`0x0${bytesToHex(bytes.subarray(1))}`)
  return sign === 0 ? magnitude : -magnitude
}

/** Inverse of {@link decodeBigInt}. Throws a RangeError for numbers that the chain could not read. */
export function encodeBigInt(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  const hex = (value < 0n ? -value : value).toString(16)
  const magnitude = hexBytes(hex.length % 2 === 0 ? hex : `0${hex}`)
  if (magnitude.length >= MAX_BYTES) throw new RangeError(`A big integer has at most ${MAX_BYTES - 1} bytes`)
  return concatBytes(Uint8Array.of(value < 0n ? 1 : 0), magnitude)
}

function hexBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  )
}
