import { blake2b } from '@noble/hashes/blake2.js'

/** Hash of what is signed or addressed by content: CIDs, vouchers, secrets. */
export function blake2b256(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 32 })
}

/** Hash that a key's or an actor's address is. */
export function blake2b160(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 20 })
}

/** The four bytes that guard an address's text against typing errors. */
export function blake2b32(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 4 })
}
