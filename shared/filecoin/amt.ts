import { blockCid } from './block-cid.ts'
import { CborWriter } from './cbor-writer.ts'

/** Children of a node, and values of a leaf. */
const WIDTH = 8

const writer = new CborWriter(16_384)

/**
 * Returns the CID (38 bytes) of the array that a block header commits to: an AMT of width 8 whose root is
 * `[height, count, node]`, the form of message and receipt lists (go-amt-ipld v2). `values` are encoded CBOR items.
 */
export function amtRoot(values: readonly Uint8Array[]): Uint8Array {
  let level = nodesOf(values, writeLeaf)
  let height = 0
  while (level.length > 1) {
    level = nodesOf(level.map(blockCid), writeParent)
    height += 1
  }
  const node = level[0] ?? writeLeaf([])
  return blockCid(writer.array(3).integer(height).integer(values.length).raw(node).take())
}

function nodesOf(
  items: readonly Uint8Array[],
  write: (items: readonly Uint8Array[]) => Uint8Array,
): Uint8Array[] {
  const nodes: Uint8Array[] = []
  for (let from = 0; from < items.length; from += WIDTH) nodes.push(write(items.slice(from, from + WIDTH)))
  return nodes
}

/** Nodes are `[bitmap, links, values]`. The lists have no gaps, so the lowest bits are set. */
function writeLeaf(values: readonly Uint8Array[]): Uint8Array {
  writer.array(3).bytes(bitmap(values.length)).array(0).array(values.length)
  for (const value of values) writer.raw(value)
  return writer.take()
}

function writeParent(children: readonly Uint8Array[]): Uint8Array {
  writer.array(3).bytes(bitmap(children.length)).array(children.length)
  for (const child of children) writer.link(child)
  return writer.array(0).take()
}

function bitmap(items: number): Uint8Array {
  return Uint8Array.of((1 << items) - 1)
}
