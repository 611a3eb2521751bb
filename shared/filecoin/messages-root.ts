import { amtRoot } from './amt.ts'
import { blockCid } from './block-cid.ts'
import { CborWriter } from './cbor-writer.ts'

const writer = new CborWriter()

/**
 * Returns the CID (38 bytes) that a block header calls `Messages`, for the CIDs of the block's messages: the messages
 * signed with BLS, and all others.
 */
export function messagesRoot(bls: readonly Uint8Array[], others: readonly Uint8Array[]): Uint8Array {
  const lists = [bls, others].map((cids) => amtRoot(cids.map((cid) => writer.link(cid).take())))
  writer.array(2)
  for (const list of lists) writer.link(list)
  return blockCid(writer.take())
}
