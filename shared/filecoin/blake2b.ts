import { blake2b } from '@noble/hashes/blake2.js'

/** Hash for signatures and content addressing: CIDs, vouchers, secrets. */
export function blake2b256(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 32 })
}

/** Hash that is the address of a key or an actor. */
export function blake2b160(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 20 })
}

/** The four checksum bytes in an address's text. */
export function blake2b32(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 4 })
}
