import { encodeBigInt } from './big-integer.ts'
import { CborWriter } from './cbor-writer.ts'

/** A block header's fields in the order of its CBOR, a tuple of 16. CIDs and addresses are bytes. */
export interface BlockHeader {
  miner: Uint8Array
  ticket: Uint8Array | null
  electionProof: { winCount: number | bigint; vrfProof: Uint8Array } | null
  beaconEntries: readonly { round: number | bigint; data: Uint8Array }[]
  winPoStProof: readonly { type: number | bigint; bytes: Uint8Array }[]
  parents: readonly Uint8Array[]
  parentWeight: bigint
  height: number | bigint
  parentStateRoot: Uint8Array
  parentMessageReceipts: Uint8Array
  messages: Uint8Array
  /** Type byte and data. */
  blsAggregate: Uint8Array | null
  /** Unix seconds. */
  timestampS: number | bigint
  blockSig: Uint8Array | null
  forkSignaling: number | bigint
  parentBaseFee: bigint
}

const writer = new CborWriter(16_384)

/** Returns the bytes whose hash is the block's CID. Throws a RangeError when a field cannot hold its number. */
export function encodeBlockHeader(header: BlockHeader): Uint8Array {
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
  writer.bytes(encodeBigInt(header.parentWeight)).integer(header.height)
  writer.link(header.parentStateRoot).link(header.parentMessageReceipts).link(header.messages)
  bytesOrNothing(header.blsAggregate)
  writer.integer(header.timestampS)
  bytesOrNothing(header.blockSig)
  return writer.integer(header.forkSignaling).bytes(encodeBigInt(header.parentBaseFee)).take()
}

function bytesOrNothing(bytes: Uint8Array | null): void {
  if (bytes === null) writer.nothing()
  else writer.bytes(bytes)
}
