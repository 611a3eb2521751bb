/** Numbers in addresses are below this; the chain refuses larger ones. */
export const LEB128_LIMIT = 1n << 63n

/** Encodes a number below 2^63 as unsigned LEB128. Throws a RangeError for other numbers. */
export function encodeLeb128(value: bigint): Uint8Array {
  if (value < 0n || value >= LEB128_LIMIT) throw new RangeError(`${value.toString()} is not below 2^63`)
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}

/**
 * Decodes the number at the start of `bytes` and its length. Returns null when it is truncated, not in its shortest
 * form, or at least 2^63.
 */
export function decodeLeb128(bytes: Uint8Array): { value: bigint; length: number } | null {
  let value = 0n
  // 63 bits are nine groups of seven, so a tenth byte would exceed the limit.
  for (let i = 0; i < Math.min(bytes.length, 9); i++) {
    const byte = bytes[i] ?? 0
    value |= BigInt(byte & 0x7f) << BigInt(7 * i)
    if (byte < 0x80) return byte === 0 && i > 0 ? null : { value, length: i + 1 }
  }
  return null
}
