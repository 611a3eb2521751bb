import { keccakText } from './keccak.ts'
import { byteText, rlpList, rlpText } from './rlp.ts'

interface Leaf {
  /** Key in nibbles, each a hex digit. */
  path: string
  /** Hex without 0x. */
  value: string
}

const HASH_BYTES = 32
const NO_BYTES = rlpText('')

/**
 * Returns the root, as hex, of the Merkle Patricia trie that maps rlp(index) to each value (hex without 0x). A block
 * commits to its receipts and transactions in this way.
 */
export function orderedTrieRoot(values: readonly string[]): string {
  const leaves = values.map((value, index) => ({ path: rlpText(wholeBytes(index)), value }))
  // No key begins another one, so this order keeps keys with a common beginning together.
  leaves.sort((left, right) => (left.path < right.path ? -1 : 1))
  return `0x${keccakText(leaves.length === 0 ? NO_BYTES : nodeOf(leaves, 0))}`
}

/** Returns an encoded node. `leaves` are sorted, at least one, and equal in their first `depth` nibbles. */
function nodeOf(leaves: readonly Leaf[], depth: number): string {
  const [first, last] = [leaves[0], leaves.at(-1)]
  if (first === undefined || last === undefined) throw new Error('a node without leaves')
  if (leaves.length === 1) return rlpList([packed(first.path.slice(depth), 2), rlpText(first.value)])
  let shared = depth
  while (first.path[shared] === last.path[shared]) shared += 1
  if (shared > depth)
    return rlpList([packed(first.path.slice(depth, shared), 0), inParent(nodeOf(leaves, shared))])
  const children = Array.from('0123456789abcdef', (nibble) => {
    const below = leaves.filter(({ path }) => path[depth] === nibble)
    return below.length === 0 ? NO_BYTES : inParent(nodeOf(below, depth + 1))
  })
  return rlpList([...children, NO_BYTES])
}

/** A short node stands in its parent as it is, a longer one by its hash. */
function inParent(node: string): string {
  return node.length < 2 * HASH_BYTES ? node : rlpText(keccakText(node))
}

/** Packs nibbles into bytes. The first nibble holds two flags: 1 for an odd number of nibbles, 2 for a leaf. */
function packed(nibbles: string, leaf: 0 | 2): string {
  return rlpText(nibbles.length % 2 === 1 ? `${leaf + 1}${nibbles}` : `${leaf}0${nibbles}`)
}

/** Zero has no bytes, as RLP writes it. */
function wholeBytes(index: number): string {
  if (index < 256) return index === 0 ? '' : byteText(index)
  const digits = index.toString(16)
  return digits.length % 2 === 0 ? digits : `0${digits}`
}
