import { createBLAKE2b } from 'hash-wasm'
import { CID } from 'multiformats/cid'

/** Prefix of a version 1 CID with dag-cbor and blake2b-256. */
const PREFIX = Uint8Array.of(0x01, 0x71, 0xa0, 0xe4, 0x02, 0x20)
/** Longer than any CID of this chain; rejects hostile texts before any work. */
const MAX_CID_TEXT = 200
/** Blocks of a tipset share parents and roots, and those of the next tipset link to them. */
const MOST_REMEMBERED = 1_000

/** Ten times as fast as the library in `blake2b.ts`; each backfilled tipset has dozens of blocks to hash. */
const hasher = await createBLAKE2b(256)

/** Returns the CID (38 bytes) of a block of CBOR. */
export function blockCid(block: Uint8Array): Uint8Array {
  const cid = new Uint8Array(PREFIX.length + 32)
  cid.set(PREFIX)
  cid.set(hasher.init().update(block).digest('binary'), PREFIX.length)
  return cid
}

let remembered = new Map<string, Uint8Array>()

/** Returns the bytes of a CID in the text form that nodes print; null when `text` is none. Never throws. */
export function parseCid(text: string): Uint8Array | null {
  const known = remembered.get(text)
  if (known !== undefined) return known
  const cid = parsed(text)
  if (cid === null) return null
  if (remembered.size >= MOST_REMEMBERED) remembered = new Map()
  remembered.set(text, cid)
  return cid
}

function parsed(text: string): Uint8Array | null {
  if (text.length > MAX_CID_TEXT) return null
  try {
    const cid = CID.parse(text)
    return cid.toString() === text ? cid.bytes : null
  } catch {
    return null
  }
}
