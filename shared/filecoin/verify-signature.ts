import { bls12_381 } from '@noble/curves/bls12-381.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sameAddress, secp256k1Address, type FilecoinAddress } from './address.ts'
import { blake2b256 } from './blake2b.ts'
import type { Signature } from './signature.ts'

export { blake2b256 } from './blake2b.ts'

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
 * Returns why `signature` is not `signer`'s over `message`, or null when it is valid. The signer's address selects the
 * scheme, as on the chain; the signature's type byte does not. Callers must resolve an ID address first.
 */
export function signatureFault(
  message: Uint8Array,
  signature: Signature,
  signer: FilecoinAddress,
): string | null {
  switch (signer.protocol) {
    case 1:
      return secp256k1Fault(message, signature.data, signer)
    case 3:
      return blsFault(message, signature.data, signer.payload)
    case 4:
      return 'signatures of delegated addresses are not supported'
    case 0:
    case 2:
      return 'the signer is no key address'
  }
}

/** Returns whether {@link signatureFault} finds nothing. Never throws. */
export function verifySignature(message: Uint8Array, signature: Signature, signer: FilecoinAddress): boolean {
  return signatureFault(message, signature, signer) === null
}

function secp256k1Fault(message: Uint8Array, data: Uint8Array, signer: FilecoinAddress): string | null {
  if (data.length !== SECP256K1_BYTES) return `a secp256k1 signature has ${SECP256K1_BYTES} bytes`
  const recovered = recoverSecp256k1Address(message, data)
  if (recovered === null) return 'no key gives this signature'
  return sameAddress(recovered, signer) ? null : 'another key signed'
}

function blsFault(message: Uint8Array, data: Uint8Array, publicKey: Uint8Array): string | null {
  if (data.length !== BLS_BYTES) return `a BLS signature has ${BLS_BYTES} bytes`
  const bls = bls12_381.longSignatures
  try {
    const key = bls12_381.G1.Point.fromBytes(publicKey)
    // Every signature verifies under the point at infinity, so it is no usable key.
    if (key.is0()) return 'the signer has no usable key'
    return bls.verify(bls.Signature.fromBytes(data), bls.hash(message, BLS_DOMAIN), key)
      ? null
      : 'another key signed'
  } catch {
    return 'key or signature is no point of the curve'
  }
}
