/** Numbers in addresses stay below this: the chain refuses the others. */
export const LEB128_LIMIT = 1n << 63n

/** Unsigned LEB128 of a number below 2^63; a RangeError for others. */
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

/** The number that `bytes` begin with and its length; null when it is cut, not in its shortest form or 2^63 and more. */
export function decodeLeb128(bytes: Uint8Array): { value: bigint; length: number } | null {
  let value = 0n
  // 63 bits are nine groups of seven: no tenth byte, so nothing above the limit.
  for (let i = 0; i < Math.min(bytes.length, 9); i++) {
    const byte = bytes[i] ?? 0
    value |= BigInt(byte & 0x7f) << BigInt(7 * i)
    if (byte < 0x80) return byte === 0 && i > 0 ? null : { value, length: i + 1 }
  }
  return null
}
