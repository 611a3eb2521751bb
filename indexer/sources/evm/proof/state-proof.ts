import { verifyMerkleProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { EMPTY_ROOT, record } from '../decode-answer.ts'
import { parseHex } from '../hex.ts'
import { listOf } from './rlp.ts'

/** Far above the depth of a real trie. It bounds the work that a hostile answer causes. */
const MAX_NODES = 64
/** A branch of 17 items takes 532 bytes, a leaf holds at most an account. */
const MAX_NODE_BYTES = 1024

/**
 * Returns the values of contract storage slots that an `eth_getProof` answer proves against a block's `stateRoot`, in
 * the order asked; 0 for an absent slot, or for all when the account is absent. `slots` are 32-byte hex. Throws a
 * BadAnswer when the answer proves nothing, or proves less than was asked.
 */
export async function provenSlots(
  stateRoot: string,
  address: string,
  slots: readonly string[],
  answer: unknown,
): Promise<bigint[]> {
  const proof = record(answer, 'proof')
  const account = await valueAt(stateRoot, bytesOf(address, 'address', 20), proof['accountProof'])
  if (account === null) return slots.map(() => 0n)
  const storageRoot = storageRootOf(account)
  const storage = listOf(proof['storageProof'], 'storage proofs')
  if (storage.length !== slots.length) throw new BadAnswer('a storage proof is missing')
  const values: bigint[] = []
  for (const [index, slot] of slots.entries()) {
    const nodes = record(storage[index], 'storage proof')['proof']
    const value = await valueAt(storageRoot, bytesOf(slot, 'slot', 32), nodes)
    values.push(value === null ? 0n : slotValue(value))
  }
  return values
}

/** Returns the value under a key, which the trie holds by its hash; null when the proof shows that it is absent. */
async function valueAt(root: string, key: Uint8Array, proof: unknown): Promise<Uint8Array | null> {
  const nodes = listOf(proof, 'proof')
  if (nodes.length > MAX_NODES) throw new BadAnswer(`a proof of ${nodes.length} nodes`)
  // An empty trie has no nodes to show.
  if (root === EMPTY_ROOT) return null
  const decoded = nodes.map((node) => {
    if (typeof node === 'string' && node.length > 2 + 2 * MAX_NODE_BYTES)
      throw new BadAnswer('a proof node too large')
    return bytesOf(node, 'proof node')
  })
  const rootBytes = bytesOf(root, 'root', 32)
  try {
    return await verifyMerkleProof(key, decoded, { useKeyHashing: true, root: rootBytes })
  } catch (error) {
    throw new BadAnswer(
      `a proof that does not hold: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** An account is [nonce, balance, storage root, code hash]. */
function storageRootOf(account: Uint8Array): string {
  const fields = decodeRlp(account)
  const root: unknown = Array.isArray(fields) ? fields[2] : undefined
  if (!(root instanceof Uint8Array) || root.length !== 32) throw new BadAnswer('a malformed account')
  return `0x${Buffer.from(root).toString('hex')}`
}

function slotValue(encoded: Uint8Array): bigint {
  const value = decodeRlp(encoded)
  // Anvil keeps slots that became zero in the trie; Ethereum removes them.
  if (value instanceof Uint8Array && value.length === 0) return 0n
  const hex = value instanceof Uint8Array ? parseHex(`0x${Buffer.from(value).toString('hex')}`) : null
  if (hex === null || hex.length < 4 || hex.length > 66) throw new BadAnswer('a malformed slot value')
  return BigInt(hex)
}

/** Throws a BadAnswer that names `what`. */
function bytesOf(value: unknown, what: string, bytes?: number): Uint8Array {
  const hex = parseHex(value, bytes)
  if (hex === null) throw new BadAnswer(`${what}: malformed`)
  return Buffer.from(hex.slice(2), 'hex')
}

function decodeRlp(encoded: Uint8Array): unknown {
  try {
    return RLP.decode(encoded)
  } catch {
    throw new BadAnswer('malformed RLP in a proof')
  }
}
