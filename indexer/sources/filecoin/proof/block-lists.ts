import { parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { sameBytes } from '../../../../shared/filecoin/bytes.ts'
import { messagesRoot } from '../../../../shared/filecoin/messages-root.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { cidOf, integer, itemsOf, record, textOf } from '../decode-json.ts'

/** (pure) A message of a block, in the node's JSON. */
export interface ListedMessage {
  /** The message's name, proven by the root over all names. */
  cid: string
  /** Unproven until it is hashed. */
  message: Record<string, unknown>
  /** Null for a message signed with BLS, whose name does not cover the signature. */
  signature: Record<string, unknown> | null
}

/**
 * Returns the messages of a block. `answer` is a node's `ChainGetBlockMessages`; `root` stands in the block's header.
 * Throws a BadAnswer when the root is of other messages.
 */
export function blockMessages(answer: unknown, root: string): ListedMessage[] {
  const { BlsMessages, SecpkMessages, Cids } = record(answer, 'block messages')
  const bls = itemsOf(BlsMessages, 'BLS messages').map((item) => record(item, 'message'))
  const others = itemsOf(SecpkMessages, 'signed messages').map((item) => record(item, 'signed message'))
  const cids = itemsOf(Cids, 'message CIDs').map((item) => cidOf(item, 'message CID'))
  const names = cids.map((cid) => parseCid(cid) ?? new Uint8Array())
  const found = messagesRoot(names.slice(0, bls.length), names.slice(bls.length))
  if (cids.length !== bls.length + others.length || !sameBytes(found, parseCid(root) ?? new Uint8Array())) {
    throw new BadAnswer(`its ${bls.length + others.length} messages of a block are not those under ${root}`)
  }
  const unsigned = bls.map((message) => ({ message, signature: null }))
  const signed = others.map(({ Message, Signature }) => ({
    message: record(Message, 'message'),
    signature: record(Signature, 'signature'),
  }))
  return [...unsigned, ...signed].map((item, index) => ({ ...item, cid: cids[index] ?? '' }))
}

/**
 * Returns the messages of a tipset's blocks in the order of execution: block by block, and the first of each sender and
 * nonce. A sender that blocks name by two addresses appears twice.
 */
export function executionOrder(blocks: readonly ListedMessage[][]): ListedMessage[] {
  const chosen = new Map<string, ListedMessage>()
  for (const listed of blocks.flat()) {
    const { From, Nonce } = listed.message
    const turn = `${textOf(From, 'message sender')} ${integer(Nonce, 'message nonce').toString()}`
    if (!chosen.has(turn)) chosen.set(turn, listed)
  }
  return [...chosen.values()]
}
