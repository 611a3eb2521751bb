import { base32 } from 'multiformats/bases/base32'
import { remembering } from '../remembering.ts'
import { blake2b160, blake2b32 } from './blake2b.ts'
import { concatBytes, sameBytes } from './bytes.ts'
import { decodeLeb128, encodeLeb128 } from './leb128.ts'

/** 0 ID, 1 secp256k1 key, 2 actor, 3 BLS key, 4 delegated. */
export type AddressProtocol = 0 | 1 | 2 | 3 | 4

/**
 * An address without its network, because only the text has the network's letter. The payload is the actor's number as
 * LEB128 (0), a blake2b-160 (1, 2), the BLS public key (3), or namespace as LEB128 and subaddress (4).
 */
export interface FilecoinAddress {
  protocol: AddressProtocol
  payload: Uint8Array
}

/** Mainnet prints `f`, every other network `t`. */
export type NetworkLetter = 'f' | 't'

const HASH_BYTES = 20
const BLS_KEY_BYTES = 48
const SECP256K1_KEY_BYTES = 65
const MAX_SUBADDRESS_BYTES = 54
const MOST_REMEMBERED = 10_000
/** The length of the longest address; rejects hostile texts before any work. */
const MAX_TEXT_LENGTH = 115

/** Parses an address with either letter and a correct checksum. Returns null for any other text. Never throws. */
export function parseAddress(text: string): FilecoinAddress | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  const [, letter, digit, rest] = /^([ft])([0-4])([0-9a-z]+)$/.exec(text) ?? []
  if (digit === undefined || rest === undefined) return null
  const address = parseBody(digit, rest)
  // Printing the address again rejects other spellings of it: leading zeros, stray bits, a wrong checksum.
  return address !== null && formatAddress(address, letter === 'f' ? 'f' : 't') === text ? address : null
}

function parseBody(digit: string, rest: string): FilecoinAddress | null {
  if (digit === '0') {
    const id = decimal(rest)
    return id === null ? null : idAddress(id)
  }
  if (digit === '4') return parseDelegated(rest)
  const payload = withoutChecksum(rest)
  return payload === null ? null : decodeAddress(Uint8Array.of(Number(digit), ...payload))
}

function parseDelegated(rest: string): FilecoinAddress | null {
  const [, namespaceText = '', encoded = ''] = /^(\d+)f([a-z2-7]+)$/.exec(rest) ?? []
  const namespace = decimal(namespaceText)
  const sub = withoutChecksum(encoded)
  if (namespace === null || sub === null || sub.length > MAX_SUBADDRESS_BYTES) return null
  return delegatedAddress(namespace, sub)
}

/** Parses a plain decimal below 2^63, or returns null. */
function decimal(text: string): bigint | null {
  if (!/^\d{1,19}$/.test(text)) return null
  const value = BigInt(text)
  return value < 1n << 63n ? value : null
}

function withoutChecksum(encoded: string): Uint8Array | null {
  try {
    const bytes = base32.baseDecode(encoded)
    return bytes.length < 4 ? null : bytes.subarray(0, -4)
  } catch {
    return null
  }
}

/** Decodes protocol byte and payload, as CBOR carries an address. Returns null when they are invalid. */
export function decodeAddress(bytes: Uint8Array): FilecoinAddress | null {
  const protocol = bytes[0]
  const payload = bytes.slice(1)
  if (!isProtocol(protocol)) return null
  return hasPayloadOf(protocol, payload) ? { protocol, payload } : null
}

function isProtocol(value: number | undefined): value is AddressProtocol {
  return value !== undefined && value <= 4
}

function hasPayloadOf(protocol: AddressProtocol, payload: Uint8Array): boolean {
  switch (protocol) {
    case 0:
      return decodeLeb128(payload)?.length === payload.length
    case 1:
    case 2:
      return payload.length === HASH_BYTES
    case 3:
      return payload.length === BLS_KEY_BYTES
    case 4: {
      const namespace = decodeLeb128(payload)
      return namespace !== null && payload.length - namespace.length <= MAX_SUBADDRESS_BYTES
    }
  }
}

/** Returns protocol byte and payload. */
export function encodeAddress(address: FilecoinAddress): Uint8Array {
  return concatBytes(Uint8Array.of(address.protocol), address.payload)
}

export function formatAddress(address: FilecoinAddress, letter: NetworkLetter): string {
  const { protocol, payload } = address
  const head = `${letter}${protocol}`
  if (protocol === 0) return head + leadingNumber(payload).value.toString()
  const checksum = checksumOf(Buffer.from(encodeAddress(address)).toString('latin1'))
  if (protocol !== 4) return head + base32.baseEncode(concatBytes(payload, checksum))
  const { value: namespace, length } = leadingNumber(payload)
  return `${head}${namespace.toString()}f${base32.baseEncode(concatBytes(payload.subarray(length), checksum))}`
}

/** Keyed by the encoded address, one character per byte. Cached because the same parties recur and hashing is slow. */
const checksumOf = remembering(MOST_REMEMBERED, (encoded) => blake2b32(Buffer.from(encoded, 'latin1')))

function leadingNumber(payload: Uint8Array): { value: bigint; length: number } {
  const number = decodeLeb128(payload)
  if (number === null) throw new RangeError('An address payload does not begin with a number')
  return number
}

/** ID addresses below 10^18, which are cheap to check. They bypass the cache, because there are as many as actors. */
const PLAIN_ID = /^[ft]0(?:0|[1-9]\d{0,17})$/

/**
 * Returns the `f…` text of an address, the form in which addresses are compared. Returns null when `text` is no
 * address.
 */
export function canonicalAddress(text: string): string | null {
  return PLAIN_ID.test(text) ? withF(text) : canonicalOfOther(text)
}

const canonicalOfOther = remembering(MOST_REMEMBERED, (text) =>
  parseAddress(text) === null ? null : withF(text),
)

/** An address has one spelling, apart from the network's letter. */
function withF(text: string): string {
  return `f${text.slice(1)}`
}

export function sameAddress(a: FilecoinAddress, b: FilecoinAddress): boolean {
  return a.protocol === b.protocol && sameBytes(a.payload, b.payload)
}

/** Returns the number in an ID address, or null for the other protocols. */
export function actorIdOf(address: FilecoinAddress): bigint | null {
  return address.protocol === 0 ? leadingNumber(address.payload).value : null
}

/** Returns `f0…`. Throws a RangeError from 2^63 on. */
export function idAddress(actorId: bigint): FilecoinAddress {
  return { protocol: 0, payload: encodeLeb128(actorId) }
}

/** Returns `f1…` for an uncompressed public key (65 bytes, the first 04). */
export function secp256k1Address(publicKey: Uint8Array): FilecoinAddress {
  if (publicKey.length !== SECP256K1_KEY_BYTES) throw new RangeError('A secp256k1 public key has 65 bytes')
  return { protocol: 1, payload: blake2b160(publicKey) }
}

/** Returns `f4…`; namespace 10 holds the Ethereum addresses. */
export function delegatedAddress(namespace: bigint, sub: Uint8Array): FilecoinAddress {
  if (sub.length > MAX_SUBADDRESS_BYTES) throw new RangeError('A subaddress has at most 54 bytes')
  return { protocol: 4, payload: concatBytes(encodeLeb128(namespace), sub) }
}

export function networkLetter(networkId: string): NetworkLetter {
  return networkId === 'mainnet' ? 'f' : 't'
}
