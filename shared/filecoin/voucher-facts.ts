import { MAX_TX_HASH } from '../events/event-place.ts'
import type { VoucherFacts } from '../events/filecoin-event.ts'
import { formatAddress, type NetworkLetter } from './address.ts'
import { bytesToHex } from './bytes.ts'
import { voucherKey, voucherText, type SignedVoucher } from './voucher.ts'

/** Returns an event's facts about a voucher. `letter` is that of the network's addresses. */
export function voucherFacts(voucher: SignedVoucher, letter: NetworkLetter): VoucherFacts {
  const text = voucherText(voucher)
  return {
    key: voucherKey(voucher),
    text: text.length > MAX_TX_HASH ? null : text,
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
