/** What JSON-RPC writes as hex. `null` stands for anything that is not what it should be. */

export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

/** A block number, a time or an index. */
export function parseQuantity(value: unknown): number | null {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,14}$/.test(value)) return null
  const number = Number.parseInt(value.slice(2), 16)
  return Number.isSafeInteger(number) ? number : null
}

/** Lower-case hex of whole bytes, exactly `bytes` of them if given. */
export function parseHex(value: unknown, bytes?: number): string | null {
  if (typeof value !== 'string' || value.length % 2 !== 0) return null
  if (bytes !== undefined && value.length !== 2 + bytes * 2) return null
  // The usual case by far.
  if (isLowerHex(value)) return value
  return /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : null
}

/** From here on an expression takes longer, three nanoseconds a digit, than Node takes to read the bytes. */
const LONG = 100
/** What is read is not needed; longer texts are rare. */
const unneeded = Buffer.allocUnsafeSlow(8192)

function isLowerHex(value: string): boolean {
  if (value.length < LONG) return /^0x[0-9a-f]*$/.test(value)
  if (!value.startsWith('0x') || value.toLowerCase() !== value) return false
  // Node reads U+0131 as a `1`, for it looks at the lowest eight bits.
  if (Buffer.byteLength(value) !== value.length) return false
  const count = value.length / 2 - 1
  const into = count <= unneeded.length ? unneeded : Buffer.allocUnsafe(count)
  return into.write(value.slice(2), 'hex') === count
}
