import { bls12_381 } from '@noble/curves/bls12-381.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sameAddress, secp256k1Address, type FilecoinAddress } from './address.ts'
import { blake2b256 } from './blake2b.ts'
import type { Signature } from './signature.ts'

/** The domain with which Filecoin hashes messages to its BLS curve. */
export const BLS_DOMAIN = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_'

const SECP256K1_BYTES = 65
const BLS_BYTES = 96

/**
 * Returns the `f1` address of the key that signed `message`. The signature is 65 bytes (r, s, recovery id 0 to 3) over
 * the message's blake2b-256. Returns null when no key gives that signature. Never throws.
 */
export function recoverSecp256k1Address(message: Uint8Array, signature: Uint8Array): FilecoinAddress | null {
  const recoveryId = signature[64]
  if (signature.length !== SECP256K1_BYTES || recoveryId === undefined) return null
  try {
    const key = secp256k1.Signature.fromBytes(signature.slice(0, 64), 'compact')
      .addRecoveryBit(recoveryId)
      .recoverPublicKey(blake2b256(message))
    return secp256k1Address(key.toBytes(false))
  } catch {
    return null
  }
}

/**
 * Returns whether `signature` is `signer`'s over `message`. The signer's address selects the scheme, as on the chain; the
 * signature's type byte does not. Only key addresses sign: callers must resolve an ID address first. Never throws.
 */
export function verifySignature(
  message: Uint8Array,
  { data }: Signature,
  { protocol, payload }: FilecoinAddress,
): boolean {
  if (protocol === 3) return isBlsSignature(message, data, payload)
  if (protocol !== 1) return false
  const recovered = recoverSecp256k1Address(message, data)
  return recovered !== null && sameAddress(recovered, { protocol, payload })
}

function isBlsSignature(message: Uint8Array, data: Uint8Array, publicKey: Uint8Array): boolean {
  const bls = bls12_381.longSignatures
  try {
    const key = bls12_381.G1.Point.fromBytes(publicKey)
    // Every signature verifies under the point at infinity, so it is no usable key.
    if (data.length !== BLS_BYTES || key.is0()) return false
    return bls.verify(bls.Signature.fromBytes(data), bls.hash(message, BLS_DOMAIN), key)
  } catch {
    return false
  }
}
