import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { blake2b256 } from './blake2b.ts'

const DAG_CBOR = 0x71
const BLAKE2B_256 = 0xb220
/** Longer than any CID of this chain; rejects hostile texts before any work. */
const MAX_TEXT_LENGTH = 200

/** Returns the CID (`bafy2bza…`) of a block of CBOR. */
export function cidOfBytes(bytes: Uint8Array): string {
  return cidOf(bytes).toString()
}

/** Returns the same CID as bytes, which a message's sender signs. */
export function cidBytesOf(bytes: Uint8Array): Uint8Array {
  return cidOf(bytes).bytes
}

function cidOf(bytes: Uint8Array): CID {
  return CID.createV1(DAG_CBOR, createDigest(BLAKE2B_256, blake2b256(bytes)))
}

/** Returns the bytes of a CID in the text form that nodes print; null when `text` is none. Never throws. */
export function parseCid(text: string): Uint8Array | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  try {
    const cid = CID.parse(text)
    return cid.toString() === text ? cid.bytes : null
  } catch {
    return null
  }
}
