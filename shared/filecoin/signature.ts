import { concatBytes } from './bytes.ts'
import { DecodeError } from './decode-error.ts'

/** 1 secp256k1 (r, s, recovery id), 2 BLS, 3 delegated. */
export type SignatureType = 1 | 2 | 3

export interface Signature {
  type: SignatureType
  data: Uint8Array
}

/** Lotus's limit, including the type byte. */
const MAX_BYTES = 200

/** Decodes type byte and data. Throws a {@link DecodeError}. */
export function decodeSignature(bytes: Uint8Array): Signature {
  const type = bytes[0]
  if (type !== 1 && type !== 2 && type !== 3) throw new DecodeError('signature: unknown type')
  if (bytes.length > MAX_BYTES) throw new DecodeError(`signature: longer than ${MAX_BYTES} bytes`)
  return { type, data: bytes.slice(1) }
}

export function encodeSignature(signature: Signature): Uint8Array {
  return concatBytes(Uint8Array.of(signature.type), signature.data)
}
