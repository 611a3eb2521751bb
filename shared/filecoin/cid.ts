import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { blake2b256 } from './blake2b.ts'

const DAG_CBOR = 0x71
const BLAKE2B_256 = 0xb220

/** Returns the CID (`bafy2bza…`) of a block of CBOR. */
export function cidOfBytes(bytes: Uint8Array): string {
  return CID.createV1(DAG_CBOR, createDigest(BLAKE2B_256, blake2b256(bytes))).toString()
}
