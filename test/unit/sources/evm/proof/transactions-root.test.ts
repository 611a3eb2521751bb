import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { keccak256 as keccakOf, Transaction, Wallet, type TransactionLike } from 'ethers'
import t from 'tap'
import { transactionsOf } from '../../../../../indexer/sources/evm/proof/transactions-root.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'

type Json = Record<string, unknown>

const WALLET = new Wallet(`0x${'11'.repeat(32)}`)
const ADDRESS = `0x${'22'.repeat(20)}`
const HASH = `0x01${'33'.repeat(31)}`
const CALL = { nonce: 0, gasLimit: 21_000, to: ADDRESS, value: 128n, data: '0x1234' }
const FEES = { chainId: 1, maxFeePerGas: 1000n, maxPriorityFeePerGas: 0n }
const ACCESS = { accessList: [{ address: ADDRESS, storageKeys: [HASH, HASH] }] }

/** Each known type, signed by a library. */
const LIKES: TransactionLike[] = [
  { ...CALL, type: 0, gasPrice: 7n },
  { ...CALL, type: 0, gasPrice: 7n, chainId: 1, to: null },
  { ...CALL, ...ACCESS, type: 1, gasPrice: 7n, chainId: 1 },
  { ...CALL, ...FEES, ...ACCESS, type: 2, nonce: 300 },
  { ...CALL, ...FEES, type: 2, to: null, data: '0x' },
  { ...CALL, ...FEES, ...ACCESS, type: 3, maxFeePerBlobGas: 9n, blobVersionedHashes: [HASH] },
  {
    ...{ ...CALL, ...FEES, type: 4 },
    authorizationList: [WALLET.authorizeSync({ address: ADDRESS, nonce: 5, chainId: 0 })],
  },
]
const SIGNED = LIKES.map((like) => {
  const transaction = Transaction.from(like)
  transaction.signature = WALLET.signingKey.sign(transaction.unsignedHash)
  return transaction
})

const hex = (value: bigint | number | null): string | undefined =>
  value === null ? undefined : `0x${value.toString(16)}`

/** EIP-155 puts the chain's id into a legacy transaction's `v`. */
function legacyV({ chainId }: Transaction, yParity: number): string | undefined {
  return hex(chainId === 0n ? 27 + yParity : chainId * 2n + 35n + BigInt(yParity))
}

/** Writes a transaction as nodes do. */
function jsonOf(transaction: Transaction): Json {
  const { signature } = transaction
  if (signature === null) throw new Error('not signed')
  const sign = (s: typeof signature): Json => ({
    yParity: hex(s.yParity),
    r: hex(BigInt(s.r)),
    s: hex(BigInt(s.s)),
  })
  return {
    ...sign(signature),
    ...(transaction.type === 0 ? { v: legacyV(transaction, signature.yParity), yParity: undefined } : {}),
    type: hex(transaction.type),
    chainId: hex(transaction.chainId),
    nonce: hex(transaction.nonce),
    gas: hex(transaction.gasLimit),
    gasPrice: hex(transaction.gasPrice),
    maxFeePerGas: hex(transaction.maxFeePerGas),
    maxPriorityFeePerGas: hex(transaction.maxPriorityFeePerGas),
    maxFeePerBlobGas: hex(transaction.maxFeePerBlobGas),
    blobVersionedHashes: transaction.blobVersionedHashes,
    to: transaction.to,
    value: hex(transaction.value),
    input: transaction.data,
    accessList: transaction.accessList ?? [],
    authorizationList: transaction.authorizationList?.map((item) => ({
      ...{ address: item.address, nonce: hex(item.nonce), chainId: hex(item.chainId) },
      ...sign(item.signature),
    })),
  }
}

void t.test('transactions of each type have the hashes that a library computes, and its root', async (t) => {
  const found = transactionsOf(SIGNED.map(jsonOf))
  t.same(
    found?.hashes,
    SIGNED.map(({ hash }) => hash),
  )
  const trie = await createMPT()
  for (const [index, { serialized }] of SIGNED.entries())
    await trie.put(RLP.encode(index), Buffer.from(serialized.slice(2), 'hex'))
  t.equal(found?.root, `0x${Buffer.from(trie.root()).toString('hex')}`)
  t.not(transactionsOf(SIGNED.slice(1).map(jsonOf))?.root, found?.root)
})

void t.test('the parity of a signature may be given as v alone', (t) => {
  const [last] = SIGNED.slice(-1).map(jsonOf)
  const { yParity: v, ...rest } = last ?? {}
  t.equal(transactionsOf([{ ...rest, v }])?.hashes[0], SIGNED.at(-1)?.hash)
  t.end()
})

void t.test('a block with a transaction of an unknown type says nothing', (t) => {
  t.equal(transactionsOf([...SIGNED.map(jsonOf), { type: '0x6a' }]), null)
  t.end()
})

void t.test('a deposit of the OP stack is encoded', (t) => {
  // Made up: no public block with all its deposits was found. The hash follows the specification of deposits.
  const deposit = {
    ...{ type: '0x7e', sourceHash: HASH, from: ADDRESS, to: ADDRESS, value: '0x0', gas: '0xf4240' },
    ...{ mint: null, isSystemTx: true, input: '0x12' },
  }
  const bytes = (text: string): Uint8Array => Buffer.from(text.slice(2), 'hex')
  const none = new Uint8Array()
  const items = [bytes(HASH), bytes(ADDRESS), bytes(ADDRESS), none, none, bytes('0x0f4240'), 1, bytes('0x12')]
  const encoded = Buffer.concat([Uint8Array.of(0x7e), RLP.encode(items)])
  t.equal(transactionsOf([deposit])?.hashes[0], keccakOf(encoded))
  t.end()
})

void t.test('a malformed transaction is a bad answer', (t) => {
  const [first] = SIGNED.map(jsonOf)
  const changes: Json[] = [{ nonce: null }, { to: '0x12' }, { input: 12 }, { r: undefined }, { type: '0xff' }]
  for (const change of changes) t.throws(() => transactionsOf([{ ...first, ...change }]), BadAnswer)
  const typed = { ...SIGNED.map(jsonOf)[3] }
  t.throws(() => transactionsOf([{ ...typed, accessList: null }]), BadAnswer)
  t.throws(
    () => transactionsOf([{ ...typed, accessList: [{ address: ADDRESS, storageKeys: ['0x'] }] }]),
    BadAnswer,
  )
  t.throws(() => transactionsOf([null]), BadAnswer)
  t.end()
})
