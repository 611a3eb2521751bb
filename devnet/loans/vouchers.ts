import { parseAddress } from '../../shared/filecoin/address.ts'
import type { Signature } from '../../shared/filecoin/signature.ts'
import { voucherFromText, voucherSigningBytes, type SignedVoucher } from '../../shared/filecoin/voucher.ts'

export interface VoucherTerms {
  /** Robust or ID address. */
  channel: string
  secretHash: Uint8Array
  nonce: bigint
  amount: bigint
  timeLockMax: bigint
}

/** Uses lane 0, as the dapp does. */
export function signedVoucher(terms: VoucherTerms, sign: (bytes: Uint8Array) => Signature): SignedVoucher {
  const { channel, ...rest } = terms
  const channelAddr = parseAddress(channel)
  if (channelAddr === null) throw new Error(`${channel} is no address`)
  const voucher: SignedVoucher = {
    ...rest,
    ...{
      channelAddr,
      timeLockMin: 0n,
      extra: null,
      lane: 0n,
      minSettleHeight: 0n,
      merges: [],
      signature: null,
    },
  }
  return { ...voucher, signature: sign(voucherSigningBytes(voucher)) }
}

/** Formats a voucher as Lotus prints it: base64url without padding. */
export function lotusText(standardText: string): string {
  return Buffer.from(standardText, 'base64').toString('base64url')
}

/** Returns a voucher in the form of the node's API. */
export function voucherJson(text: string, channel: string): object {
  const { timeLockMin, timeLockMax, secretHash, lane, nonce, amount, minSettleHeight, signature } =
    voucherFromText(text)
  return {
    ChannelAddr: channel,
    ...{ TimeLockMin: Number(timeLockMin), TimeLockMax: Number(timeLockMax) },
    SecretHash: Buffer.from(secretHash).toString('base64'),
    ...{ Extra: null, Lane: Number(lane), Nonce: Number(nonce), Amount: amount.toString() },
    ...{ MinSettleHeight: Number(minSettleHeight), Merges: null },
    Signature: signature && { Type: signature.type, Data: Buffer.from(signature.data).toString('base64') },
  }
}
