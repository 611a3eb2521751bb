export { bytesToHex, concatBytes } from '@noble/hashes/utils.js'

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
