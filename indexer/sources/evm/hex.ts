/** Hex as JSON-RPC writes it. Parsers return null for a malformed value. */

export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

/** Parses a block number, a time or an index. */
export function parseQuantity(value: unknown): number | null {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,14}$/.test(value)) return null
  const number = Number.parseInt(value.slice(2), 16)
  return Number.isSafeInteger(number) ? number : null
}

/** Returns lower-case hex of whole bytes, exactly `bytes` of them if given. */
export function parseHex(value: unknown, bytes?: number): string | null {
  if (typeof value !== 'string' || value.length % 2 !== 0) return null
  if (bytes !== undefined && value.length !== 2 + bytes * 2) return null
  return /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : null
}
