import { parseAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import type { Signature, SignatureType } from '../../../shared/filecoin/signature.ts'
import type { SignedVoucher, VoucherExtra } from '../../../shared/filecoin/voucher.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { amount, bytesOf, integer, itemsOf, record, textOf } from './decode-json.ts'

const MOST_MERGES = 8192

/** (pure) Decodes a voucher from a node's JSON. Throws a BadAnswer when it is invalid. */
export function decodeLotusVoucher(value: unknown): SignedVoucher {
  const fields = record(value, 'voucher')
  const merges = itemsOf(fields['Merges'], 'voucher merges')
  if (merges.length > MOST_MERGES) throw new BadAnswer(`voucher: ${merges.length} merges`)
  return {
    channelAddr: addressOf(fields['ChannelAddr'], 'voucher channel'),
    timeLockMin: integer(fields['TimeLockMin'], 'voucher TimeLockMin'),
    timeLockMax: integer(fields['TimeLockMax'], 'voucher TimeLockMax'),
    // `SecretPreimage` is the field's name up to actors v6; its meaning is the same.
    secretHash: bytesOf(fields['SecretHash'] ?? fields['SecretPreimage'], 'voucher secret hash'),
    extra: extraOf(fields['Extra']),
    lane: integer(fields['Lane'], 'voucher lane'),
    nonce: integer(fields['Nonce'], 'voucher nonce'),
    amount: amount(fields['Amount'], 'voucher amount'),
    minSettleHeight: integer(fields['MinSettleHeight'], 'voucher MinSettleHeight'),
    merges: merges.map((item) => {
      const merge = record(item, 'voucher merge')
      return { lane: integer(merge['Lane'], 'merged lane'), nonce: integer(merge['Nonce'], 'merged nonce') }
    }),
    signature: signatureOf(fields['Signature']),
  }
}

function extraOf(value: unknown): VoucherExtra | null {
  if (value === null || value === undefined) return null
  const fields = record(value, 'voucher extra')
  return {
    actor: addressOf(fields['Actor'], 'voucher extra actor'),
    method: integer(fields['Method'], 'voucher extra method'),
    data: bytesOf(fields['Data'], 'voucher extra data'),
  }
}

function signatureOf(value: unknown): Signature | null {
  if (value === null || value === undefined) return null
  const { Type: type, Data: data } = record(value, 'voucher signature')
  if (!isSignatureType(type)) throw new BadAnswer('voucher signature: unknown type')
  return { type, data: bytesOf(data, 'voucher signature') }
}

function isSignatureType(value: unknown): value is SignatureType {
  return value === 1 || value === 2 || value === 3
}

function addressOf(value: unknown, what: string): FilecoinAddress {
  const address = parseAddress(textOf(value, what))
  if (address === null) throw new BadAnswer(`${what}: no address`)
  return address
}
