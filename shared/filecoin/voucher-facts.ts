import type { VoucherFacts } from '../events/filecoin-event.ts'
import { formatAddress, type NetworkLetter } from './address.ts'
import { bytesToHex } from './bytes.ts'
import { voucherKey, voucherText, type SignedVoucher } from './voucher.ts'

/** A longer text is not kept: records are found by it, and an index's row has a limit. */
export const MAX_KEPT_TEXT = 2_048

/** What an event says of a voucher, on the network whose addresses have this letter. */
export function voucherFacts(voucher: SignedVoucher, letter: NetworkLetter): VoucherFacts {
  const text = voucherText(voucher)
  return {
    key: voucherKey(voucher),
    text: text.length > MAX_KEPT_TEXT ? null : text,
    channelAddr: formatAddress(voucher.channelAddr, letter),
    timeLockMin: voucher.timeLockMin.toString(),
    timeLockMax: voucher.timeLockMax.toString(),
    secretHash: voucher.secretHash.length === 0 ? null : `0x${bytesToHex(voucher.secretHash)}`,
    lane: voucher.lane.toString(),
    nonce: voucher.nonce.toString(),
    amount: voucher.amount.toString(),
    minSettleHeight: voucher.minSettleHeight.toString(),
    hasExtra: voucher.extra !== null,
    merges: voucher.merges.length,
  }
}
