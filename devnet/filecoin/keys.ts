import { bls12_381 } from '@noble/curves/bls12-381.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { secp256k1Address, type FilecoinAddress } from '../../shared/filecoin/address.ts'
import { blake2b256 } from '../../shared/filecoin/blake2b.ts'
import { concatBytes } from '../../shared/filecoin/bytes.ts'
import type { Signature } from '../../shared/filecoin/signature.ts'
import { BLS_DOMAIN } from '../../shared/filecoin/verify-signature.ts'
import { bigEndian64, blsAddress } from './codec.ts'

export type KeyKind = 'secp256k1' | 'bls'

/** An account that can sign: vouchers, statements and the signing bytes of messages. */
export interface Key {
  kind: KeyKind
  /** `f1` or `f3`. */
  address: FilecoinAddress
  sign(bytes: Uint8Array): Signature
}

/** Derives the same key from the same seed. Only for a devnet: the key is not secret. */
export function createKey(kind: KeyKind, seed: Uint8Array): Key {
  return kind === 'bls' ? createBlsKey(seed) : createSecp256k1Key(seed)
}

function createSecp256k1Key(seed: Uint8Array): Key {
  const privateKey = privateKeyOf(seed, secp256k1.Point.Fn.ORDER)
  return {
    kind: 'secp256k1',
    address: secp256k1Address(secp256k1.getPublicKey(privateKey, false)),
    sign: (bytes) => signSecp256k1(bytes, privateKey),
  }
}

function createBlsKey(seed: Uint8Array): Key {
  const privateKey = privateKeyOf(seed, bls12_381.fields.Fr.ORDER)
  return {
    kind: 'bls',
    address: blsAddress(bls12_381.longSignatures.getPublicKey(privateKey).toBytes(true)),
    sign: (bytes) => signBls(bytes, privateKey),
  }
}

/** Returns the first hash of the seed, numbered from 0, that is a number from 1 to below `order`. */
export function privateKeyOf(seed: Uint8Array, order: bigint): Uint8Array {
  for (let attempt = 0n; ; attempt++) {
    const hash = blake2b256(concatBytes(seed, bigEndian64(attempt)))
    const value = BigInt(`0x${Buffer.from(hash).toString('hex')}`)
    if (value > 0n && value < order) return hash
  }
}

/** Signs the blake2b-256 of the bytes: r, s, recovery id. */
export function signSecp256k1(bytes: Uint8Array, privateKey: Uint8Array): Signature {
  const recovered = secp256k1.sign(blake2b256(bytes), privateKey, { prehash: false, format: 'recovered' })
  return { type: 1, data: concatBytes(recovered.subarray(1), recovered.subarray(0, 1)) }
}

/** Signs the bytes themselves. */
export function signBls(bytes: Uint8Array, privateKey: Uint8Array): Signature {
  const bls = bls12_381.longSignatures
  return { type: 2, data: bls.Signature.toBytes(bls.sign(bls.hash(bytes, BLS_DOMAIN), privateKey)) }
}
