import { keccak_256 } from '@noble/hashes/sha3.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { blockCid, parseCid } from '../block-cid.ts'
import { concatBytes } from '../bytes.ts'
import { CborWriter } from '../cbor-writer.ts'
import { DecodeError } from '../decode-error.ts'
import type { PowerDelta } from './power-table.ts'

/** A tipset in a certificate. */
export interface CertifiedTipset {
  epoch: number
  /** The CIDs of its blocks in order, joined by commas. */
  key: string
  /** CID of the power table. */
  powerTable: string
  /** 32 bytes. */
  commitments: Uint8Array
}

/** The decision of one instance of F3. */
export interface FinalityCertificate {
  instance: number
  /** The last tipset of the instance before, then those that became final; ascending. */
  chain: readonly CertifiedTipset[]
  /** Signed with the chain: 32 bytes, and the CID of the next instance's power table. */
  supplement: { commitments: Uint8Array; powerTable: string }
  /** Places in the power table, ascending. */
  signers: readonly number[]
  /** An aggregate of BLS signatures, 96 bytes. */
  signature: Uint8Array
  /** Changes to the next instance's power table. */
  deltas: readonly PowerDelta[]
}

/** Limits of go-f3. */
export const MOST_TIPSETS = 128
export const MOST_BLOCKS = 20

const DECIDE = 5
const INNER = Uint8Array.of(0)
const LEAF = Uint8Array.of(1)
const NOTHING = new Uint8Array(32)

const writer = new CborWriter()

/** Returns the bytes that participants sign for this decision. `network` is the name in the manifest of F3. */
export function payloadToSign(
  network: string,
  { instance, chain, supplement }: FinalityCertificate,
): Uint8Array {
  const { commitments, powerTable } = supplement
  const numbers = new Uint8Array(17)
  numbers[0] = DECIDE
  // The eight bytes of the round, which is 0 in a decision, come before the instance.
  new DataView(numbers.buffer).setBigUint64(9, BigInt(instance))
  const begin = utf8ToBytes(`GPBFT:${network}:`)
  return concatBytes(begin, numbers, commitments, chainRoot(chain), cidBytes(powerTable))
}

/** Returns the Merkle root over the tipsets. */
export function chainRoot(chain: readonly CertifiedTipset[]): Uint8Array {
  const leaves = chain.map((tipset) => keccak_256(concatBytes(LEAF, tipsetBytes(tipset))))
  return rootOf(leaves, Math.ceil(Math.log2(chain.length)))
}

/** A missing branch of an unbalanced tree is 32 zero bytes. */
function rootOf(leaves: readonly Uint8Array[], depth: number): Uint8Array {
  const [first] = leaves
  if (first === undefined) return NOTHING
  if (depth === 0) return first
  const split = 2 ** (depth - 1)
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)]
  return keccak_256(concatBytes(INNER, rootOf(left, depth - 1), rootOf(right, depth - 1)))
}

function tipsetBytes({ epoch, key, powerTable, commitments }: CertifiedTipset): Uint8Array {
  const height = new Uint8Array(8)
  new DataView(height.buffer).setBigInt64(0, BigInt(epoch))
  const blocks = writer.begin().bytes(concatBytes(...key.split(',').map(cidBytes)))
  return concatBytes(height, commitments, blockCid(blocks.take()), cidBytes(powerTable))
}

/** Throws a DecodeError. */
function cidBytes(text: string): Uint8Array {
  const cid = parseCid(text)
  if (cid === null) throw new DecodeError('certificate: a malformed CID')
  return cid
}
