import { BadAnswer } from '../../rpc/rpc-error.ts'
import { record } from '../decode-answer.ts'
import { parseQuantity } from '../hex.ts'
import { orderedTrieRoot } from './ordered-trie.ts'
import { byteText, listOf, rlpBytes, rlpList, rlpNumber } from './rlp.ts'

const DEPOSIT = 0x7e
/** Types from here on would be read as an RLP list (EIP-2718). */
const FIRST_IMPOSSIBLE = 0x80

/**
 * Returns the root of a block's receipts as `eth_getBlockReceipts` gives them, in order. A receipt of an unknown type is
 * encoded like the known ones. Throws a BadAnswer for a malformed receipt.
 */
export function receiptsRoot(receipts: readonly unknown[]): string {
  return orderedTrieRoot(receipts.map((receipt) => encodeReceipt(record(receipt, 'receipt'))))
}

function encodeReceipt(receipt: Record<string, unknown>): string {
  const type = typeOf(receipt['type'], 'receipt type')
  // Receipts before Byzantium have the state's root in place of a status.
  const outcome =
    receipt['status'] === undefined || receipt['status'] === null
      ? rlpBytes(receipt['root'], 'receipt root', 32)
      : rlpNumber(receipt['status'], 'receipt status')
  const body = rlpList([
    outcome,
    rlpNumber(receipt['cumulativeGasUsed'], 'receipt gas'),
    rlpBytes(receipt['logsBloom'], 'receipt bloom', 256),
    rlpList(listOf(receipt['logs'], 'receipt logs').map((log) => logOf(record(log, 'log')))),
    ...(type === DEPOSIT ? depositItems(receipt) : []),
  ])
  return typed(type, body)
}

/** An OP-stack deposit commits to its nonce since the Canyon upgrade, which also added the version. */
function depositItems(receipt: Record<string, unknown>): string[] {
  const version = receipt['depositReceiptVersion']
  if (version === undefined || version === null) return []
  return [rlpNumber(receipt['depositNonce'], 'deposit nonce'), rlpNumber(version, 'deposit version')]
}

function logOf(log: Record<string, unknown>): string {
  const topics = listOf(log['topics'], 'log topics').map((topic) => rlpBytes(topic, 'log topic', 32))
  return rlpList([
    rlpBytes(log['address'], 'log address', 20),
    rlpList(topics),
    rlpBytes(log['data'], 'log data'),
  ])
}

/** Returns an EIP-2718 type; 0 when the field is missing, as nodes before Berlin left it out. */
export function typeOf(value: unknown, what: string): number {
  const type = value === undefined || value === null ? 0 : parseQuantity(value)
  if (type === null || type >= FIRST_IMPOSSIBLE) throw new BadAnswer(`${what}: malformed`)
  return type
}

/** Puts the type before the body, except for type 0. */
export function typed(type: number, body: string): string {
  return type === 0 ? body : byteText(type) + body
}
