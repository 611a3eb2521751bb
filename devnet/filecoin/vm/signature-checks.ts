import { formatAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { bytesToHex, concatBytes } from '../../../shared/filecoin/bytes.ts'
import { encodeSignature, type Signature } from '../../../shared/filecoin/signature.ts'
import { verifySignature } from '../../../shared/filecoin/verify-signature.ts'
import { encodeUtf8 } from './utf8.ts'

/**
 * Verifies each signature once, because a pairing takes milliseconds. Every branch executes a message again, and so
 * does loading the chain.
 */
export class SignatureChecks {
  private readonly outcomes = new Map<string, boolean>()
  private readonly onNew: (key: string, valid: boolean) => void

  constructor(onNew: (key: string, valid: boolean) => void = () => undefined) {
    this.onNew = onNew
  }

  remember(key: string, valid: boolean): void {
    this.outcomes.set(key, valid)
  }

  verify(bytes: Uint8Array, signature: Signature, signer: FilecoinAddress): boolean {
    const key = keyOf(bytes, signature, signer)
    const known = this.outcomes.get(key)
    if (known !== undefined) return known
    const valid = verifySignature(bytes, signature, signer)
    this.outcomes.set(key, valid)
    this.onNew(key, valid)
    return valid
  }
}

function keyOf(bytes: Uint8Array, signature: Signature, signer: FilecoinAddress): string {
  const parts = [blake2b256(bytes), encodeSignature(signature), encodeUtf8(formatAddress(signer, 'f'))]
  return bytesToHex(blake2b256(concatBytes(...parts))).slice(0, 40)
}
