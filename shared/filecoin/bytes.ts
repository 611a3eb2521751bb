export { bytesToHex, concatBytes } from '@noble/hashes/utils.js'

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

/** Encodes a whole number below 2^64 as eight bytes, the highest first. */
export function bigEndian64(value: bigint): Uint8Array {
  if (value < 0n || value >= 1n << 64n) throw new RangeError(`${value.toString()} is no 64-bit number`)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}
