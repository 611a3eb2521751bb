import { base64pad, base64url } from 'multiformats/bases/base64'
import { blake2b256 } from './blake2b.ts'
import { bytesToHex } from './bytes.ts'
import { DecodeError } from './decode-error.ts'
import { decodeVoucher, encodeVoucher, type SignedVoucher } from './voucher-cbor.ts'

export { decodeVoucher, encodeVoucher } from './voucher-cbor.ts'
export type { SignedVoucher, VoucherExtra } from './voucher-cbor.ts'

/** A message, and so a redeemable voucher, has at most 64 KiB; base64 turns three bytes into four characters. */
export const MAX_VOUCHER_TEXT_LENGTH = Math.ceil((64 * 1024) / 3) * 4

/** Returns the signed bytes: the voucher without its signature. */
export function voucherSigningBytes(voucher: SignedVoucher): Uint8Array {
  return encodeVoucher({ ...voucher, signature: null })
}

/** Identifies the promise regardless of its signature, because ECDSA signatures are malleable. Hex, without 0x. */
export function voucherKey(voucher: SignedVoucher): string {
  return bytesToHex(blake2b256(voucherSigningBytes(voucher)))
}

/**
 * Decodes standard base64 with padding (the dapp's signer) or base64url without (Lotus). Each voucher has one text in
 * either form. Stray bits, white space and missing or surplus padding are refused. Throws a {@link DecodeError}.
 */
export function voucherFromText(text: string): SignedVoucher {
  if (text === '') throw new DecodeError('voucher text: empty')
  if (text.length > MAX_VOUCHER_TEXT_LENGTH) {
    throw new DecodeError(`voucher text: longer than ${MAX_VOUCHER_TEXT_LENGTH} characters`)
  }
  return decodeVoucher(decodeEither(text))
}

function decodeEither(text: string): Uint8Array {
  for (const base of [base64pad, base64url]) {
    const bytes = decodeExactly(base, text)
    if (bytes !== null) return bytes
  }
  throw new DecodeError('voucher text: neither base64 with padding nor base64url without')
}

function decodeExactly(
  base: { baseDecode(text: string): Uint8Array; baseEncode(bytes: Uint8Array): string },
  text: string,
): Uint8Array | null {
  try {
    const bytes = base.baseDecode(text)
    return base.baseEncode(bytes) === text ? bytes : null
  } catch {
    return null
  }
}

/** Returns standard base64 with padding, the form in which records name a voucher. */
export function voucherText(voucher: SignedVoucher): string {
  return base64pad.baseEncode(encodeVoucher(voucher))
}
