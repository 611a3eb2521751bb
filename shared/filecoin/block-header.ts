import { blockCid } from './block-cid.ts'
import { CborWriter } from './cbor-writer.ts'

/**
 * A block header's fields in the order of its CBOR, a tuple of 16. CIDs and addresses are bytes; weight and base fee are
 * encoded big integers, which all blocks of a tipset share.
 */
export interface BlockHeader {
  miner: Uint8Array
  ticket: Uint8Array | null
  electionProof: { winCount: number | bigint; vrfProof: Uint8Array } | null
  beaconEntries: readonly { round: number | bigint; data: Uint8Array }[]
  winPoStProof: readonly { type: number | bigint; bytes: Uint8Array }[]
  parents: readonly Uint8Array[]
  parentWeight: Uint8Array
  height: number | bigint
  parentStateRoot: Uint8Array
  parentMessageReceipts: Uint8Array
  messages: Uint8Array
  blsAggregate: Signature | null
  /** Unix seconds. */
  timestampS: number | bigint
  blockSig: Signature | null
  forkSignaling: number | bigint
  parentBaseFee: Uint8Array
}

interface Signature {
  type: number
  data: Uint8Array
}

const writer = new CborWriter(16_384)

/** Returns the bytes whose hash is the block's CID. Throws a RangeError when a field cannot hold its number. */
export function encodeBlockHeader(header: BlockHeader): Uint8Array {
  return write(header).take()
}

/** Returns the block's CID (38 bytes). Throws a RangeError when a field cannot hold its number. */
export function blockHeaderCid(header: BlockHeader): Uint8Array {
  return blockCid(write(header).written())
}

function write(header: BlockHeader): CborWriter {
  writer.begin().array(16).bytes(header.miner)
  if (header.ticket === null) writer.nothing()
  else writer.array(1).bytes(header.ticket)
  if (header.electionProof === null) writer.nothing()
  else writer.array(2).integer(header.electionProof.winCount).bytes(header.electionProof.vrfProof)
  writer.array(header.beaconEntries.length)
  for (const { round, data } of header.beaconEntries) writer.array(2).integer(round).bytes(data)
  writer.array(header.winPoStProof.length)
  for (const { type, bytes } of header.winPoStProof) writer.array(2).integer(type).bytes(bytes)
  writer.array(header.parents.length)
  for (const parent of header.parents) writer.link(parent)
  writer.bytes(header.parentWeight).integer(header.height)
  writer.link(header.parentStateRoot).link(header.parentMessageReceipts).link(header.messages)
  signatureOrNothing(header.blsAggregate)
  writer.integer(header.timestampS)
  signatureOrNothing(header.blockSig)
  return writer.integer(header.forkSignaling).bytes(header.parentBaseFee)
}

function signatureOrNothing(signature: Signature | null): void {
  if (signature === null) writer.nothing()
  else writer.bytesAfter(signature.type, signature.data)
}
