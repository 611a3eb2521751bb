import fc from 'fast-check'
import {
  delegatedAddress,
  idAddress,
  secp256k1Address,
  type FilecoinAddress,
} from '../../shared/filecoin/address.ts'
import type { Message } from '../../shared/filecoin/message.ts'
import type { SignedVoucher } from '../../shared/filecoin/voucher.ts'
import { actorAddress, blsAddress } from '../../devnet/filecoin/codec.ts'
import { type Signature } from '../../shared/filecoin/signature.ts'

/** Arbitraries for all values of the chain's types, edges included. */

export const UINT64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
export const INT64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const INT63 = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
export const BIG_INTEGER = fc.bigInt({ min: -(2n ** 1016n) + 1n, max: 2n ** 1016n - 1n })

export function bytes(maxLength: number, minLength = 0): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength, maxLength })
}

/** Gives objects the prototype of literals: `fast-check` also makes objects without one, which never compare equal. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true })
}

export const ADDRESS: fc.Arbitrary<FilecoinAddress> = fc.oneof(
  INT63.map(idAddress),
  bytes(65, 65).map(secp256k1Address),
  bytes(40).map(actorAddress),
  bytes(48, 48).map(blsAddress),
  fc.tuple(INT63, bytes(54)).map(([namespace, sub]) => delegatedAddress(namespace, sub)),
)

export const SIGNATURE: fc.Arbitrary<Signature> = record({
  type: fc.constantFrom(1, 2, 3),
  data: bytes(199),
})

export const MESSAGE: fc.Arbitrary<Message> = record({
  version: fc.constant(0),
  to: ADDRESS,
  from: ADDRESS,
  nonce: UINT64,
  value: BIG_INTEGER,
  gasLimit: INT64,
  gasFeeCap: BIG_INTEGER,
  gasPremium: BIG_INTEGER,
  method: UINT64,
  params: bytes(300),
})

export const VOUCHER: fc.Arbitrary<SignedVoucher> = record({
  channelAddr: ADDRESS,
  timeLockMin: INT64,
  timeLockMax: INT64,
  secretHash: bytes(40),
  extra: fc.option(record({ actor: ADDRESS, method: UINT64, data: bytes(40) })),
  lane: UINT64,
  nonce: UINT64,
  amount: BIG_INTEGER,
  minSettleHeight: INT64,
  merges: fc.array(record({ lane: UINT64, nonce: UINT64 }), { maxLength: 40 }),
  signature: fc.option(SIGNATURE),
})
