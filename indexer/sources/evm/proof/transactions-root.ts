import { record } from '../decode-answer.ts'
import { keccakText } from './keccak.ts'
import { orderedTrieRoot } from './ordered-trie.ts'
import { typed, typeOf } from './receipts-root.ts'
import { listOf, rlpBytes, rlpList, rlpNumber, rlpText } from './rlp.ts'

type Fields = Readonly<Record<string, unknown>>

/** The root of a block's transactions and their hashes, in order. */
export interface ProvenTransactions {
  root: string
  hashes: string[]
}

/**
 * Encodes a block's transactions as `eth_getBlockByHash` gives them in full. Returns null when one has a type that is
 * not known here: nothing can be said about such a block. Throws a BadAnswer for a malformed transaction.
 */
export function transactionsOf(transactions: readonly unknown[]): ProvenTransactions | null {
  const encoded: string[] = []
  for (const value of transactions) {
    const transaction = record(value, 'transaction')
    const type = typeOf(transaction['type'], 'transaction type')
    const fields = FIELDS_OF.get(type)
    if (fields === undefined) return null
    encoded.push(typed(type, rlpList(fields(transaction))))
  }
  return { root: orderedTrieRoot(encoded), hashes: encoded.map((text) => `0x${keccakText(text)}`) }
}

/** Signed fields by type, in the order of the type's EIP. */
const FIELDS_OF = new Map<number, (transaction: Fields) => string[]>([
  [
    0,
    (tx) => [
      ...[number(tx, 'nonce'), number(tx, 'gasPrice'), ...call(tx)],
      ...[number(tx, 'v'), number(tx, 'r'), number(tx, 's')],
    ],
  ],
  [
    1,
    (tx) => [
      ...[number(tx, 'chainId'), number(tx, 'nonce'), number(tx, 'gasPrice')],
      ...[...call(tx), accessList(tx), ...signature(tx)],
    ],
  ],
  [2, (tx) => [...feeMarket(tx), ...signature(tx)]],
  [
    3,
    (tx) => [
      ...[...feeMarket(tx), number(tx, 'maxFeePerBlobGas')],
      rlpList(
        listOf(tx['blobVersionedHashes'], 'blob hashes').map((hash) => rlpBytes(hash, 'blob hash', 32)),
      ),
      ...signature(tx),
    ],
  ],
  [4, (tx) => [...feeMarket(tx), authorizations(tx), ...signature(tx)]],
  // A deposit of the OP stack. It has no signature.
  [
    0x7e,
    (tx) => [
      rlpBytes(tx['sourceHash'], 'deposit source', 32),
      rlpBytes(tx['from'], 'deposit from', 20),
      to(tx),
      rlpNumber(tx['mint'] ?? '0x0', 'deposit mint'),
      ...[number(tx, 'value'), number(tx, 'gas')],
      rlpNumber(tx['isSystemTx'] === true ? '0x1' : '0x0', 'deposit kind'),
      rlpBytes(tx['input'], 'transaction input'),
    ],
  ],
])

function feeMarket(tx: Fields): string[] {
  const fees = [number(tx, 'maxPriorityFeePerGas'), number(tx, 'maxFeePerGas')]
  return [number(tx, 'chainId'), number(tx, 'nonce'), ...fees, ...call(tx), accessList(tx)]
}

function call(tx: Fields): string[] {
  return [number(tx, 'gas'), to(tx), number(tx, 'value'), rlpBytes(tx['input'], 'transaction input')]
}

/** Empty for a transaction that creates a contract. */
function to(tx: Fields): string {
  return tx['to'] === null || tx['to'] === undefined ? rlpText('') : rlpBytes(tx['to'], 'transaction to', 20)
}

function accessList(tx: Fields): string {
  const entries = listOf(tx['accessList'], 'access list').map((value) => {
    const { address, storageKeys } = record(value, 'access list entry')
    const keys = listOf(storageKeys, 'access list keys').map((key) => rlpBytes(key, 'access list key', 32))
    return rlpList([rlpBytes(address, 'access list address', 20), rlpList(keys)])
  })
  return rlpList(entries)
}

function authorizations(tx: Fields): string {
  const entries = listOf(tx['authorizationList'], 'authorizations').map((value) => {
    const authorization = record(value, 'authorization')
    return rlpList([
      number(authorization, 'chainId'),
      rlpBytes(authorization['address'], 'authorization address', 20),
      number(authorization, 'nonce'),
      ...signature(authorization),
    ])
  })
  return rlpList(entries)
}

/** Some nodes give a typed transaction's parity only as `v`. */
function signature(tx: Fields): string[] {
  return [rlpNumber(tx['yParity'] ?? tx['v'], 'signature parity'), number(tx, 'r'), number(tx, 's')]
}

function number(tx: Fields, name: string): string {
  return rlpNumber(tx[name], `transaction ${name}`)
}
