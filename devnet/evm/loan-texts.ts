import { blake2b } from '@noble/hashes/blake2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

/** Returns the hash that identifies a secret on both ledgers. */
export function secretHash(secret: Uint8Array): string {
  return `0x${bytesToHex(blake2b(secret, { dkLen: 32 }))}`
}

/** The dapp's secrets are text: the ASCII bytes of 64 hex digits. The same name gives the same secret. */
export function namedSecret(name: string): Uint8Array {
  return utf8ToBytes(bytesToHex(blake2b(utf8ToBytes(name), { dkLen: 32 })))
}

const filecoinAddresses = new Map<string, string>()

/** Returns a Filecoin secp256k1 address of the test network (`t1…`), always the same for an EVM party. */
export function filecoinAddressFor(party: string): string {
  const known = filecoinAddresses.get(party)
  if (known !== undefined) return known
  const address = secp256k1Address(blake2b(utf8ToBytes(party.toLowerCase()), { dkLen: 20 }))
  filecoinAddresses.set(party, address)
  return address
}

/** Formats a `t1` address: base32 of the 20 payload bytes and a 4-byte checksum. */
export function secp256k1Address(payload: Uint8Array): string {
  const protocol = 1
  const checksum = blake2b(concatBytes(Uint8Array.of(protocol), payload), { dkLen: 4 })
  return `t${protocol}${base32(concatBytes(payload, checksum))}`
}

/** Returns the text of a payment channel's ID address as a `bytes32`, padded right with zero bytes. */
export function channelIdBytes(id: number): string {
  return `0x${bytesToHex(utf8ToBytes(`t0${id}`)).padEnd(64, '0')}`
}

export function bytesText(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`
}

/** RFC 4648, lower case, without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    for (; bits >= 5; bits -= 5) text += alphabet.charAt((held >> (bits - 5)) & 31)
    held &= (1 << bits) - 1
  }
  return bits > 0 ? text + alphabet.charAt((held << (5 - bits)) & 31) : text
}
