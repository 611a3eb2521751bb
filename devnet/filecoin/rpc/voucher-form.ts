import { formatAddress, type NetworkLetter } from '../../../shared/filecoin/address.ts'
import type { SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { bytesOrNull, signatureForm } from './forms.ts'
import * as take from './params.ts'
import { unreadable } from './rpc-error.ts'
import { decodeSignature } from '../../../shared/filecoin/signature.ts'

export function voucherForm(voucher: SignedVoucher, letter: NetworkLetter) {
  const { extra, merges, signature } = voucher
  return {
    ChannelAddr: formatAddress(voucher.channelAddr, letter),
    TimeLockMin: voucher.timeLockMin,
    TimeLockMax: voucher.timeLockMax,
    SecretHash: bytesOrNull(voucher.secretHash),
    Extra:
      extra === null
        ? null
        : { Actor: formatAddress(extra.actor, letter), Method: extra.method, Data: bytesOrNull(extra.data) },
    Lane: voucher.lane,
    Nonce: voucher.nonce,
    Amount: voucher.amount.toString(),
    MinSettleHeight: voucher.minSettleHeight,
    Merges: merges.length === 0 ? null : merges.map(({ lane, nonce }) => ({ Lane: lane, Nonce: nonce })),
    Signature: signature === null ? null : signatureForm(signature),
  }
}

export function readVoucherForm(value: unknown): SignedVoucher {
  const form = take.record(value)
  return {
    channelAddr: take.address(form['ChannelAddr']),
    timeLockMin: epoch(form['TimeLockMin']),
    timeLockMax: epoch(form['TimeLockMax']),
    secretHash: take.bytes(form['SecretHash']),
    extra: readExtra(form['Extra']),
    lane: take.uint64(form['Lane']),
    nonce: take.uint64(form['Nonce']),
    amount: take.bigInteger(form['Amount']),
    minSettleHeight: epoch(form['MinSettleHeight']),
    merges: take.list(form['Merges'] ?? []).map((item) => {
      const merge = take.record(item)
      return { lane: take.uint64(merge['Lane']), nonce: take.uint64(merge['Nonce']) }
    }),
    signature: readSignatureForm(form['Signature']),
  }
}

export function readSignatureForm(value: unknown): SignedVoucher['signature'] {
  if (value === null || value === undefined) return null
  const form = take.record(value)
  const type = take.integer(form['Type'])
  if (type < 1 || type > 3) throw unreadable('unmarshaling params: invalid signature type')
  return decodeSignature(Uint8Array.of(type, ...take.bytes(form['Data'])))
}

function readExtra(value: unknown): SignedVoucher['extra'] {
  if (value === null || value === undefined) return null
  const form = take.record(value)
  return {
    actor: take.address(form['Actor']),
    method: take.uint64(form['Method']),
    data: take.bytes(form['Data']),
  }
}

function epoch(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(take.integer(value))
}
