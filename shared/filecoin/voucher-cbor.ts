import { encodeAddress, type FilecoinAddress } from './address.ts'
import { decodeBigInt, decodeLooseBigInt, encodeBigInt } from './big-integer.ts'
import {
  inInt64,
  inUint64,
  readAddress,
  readArray,
  readBytes,
  readInt64,
  readTuple,
  readUint64,
} from './cbor-fields.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { decodeSignature, encodeSignature, type Signature } from './signature.ts'

/** A lane whose redeemed amount a voucher takes over. */
export interface VoucherMerge {
  lane: bigint
  nonce: bigint
}

/** An extra call that must succeed when the voucher is redeemed. */
export interface VoucherExtra {
  actor: FilecoinAddress
  method: bigint
  data: Uint8Array
}

/** A promise of funds on a channel. Times are epochs, amounts attoFIL. */
export interface SignedVoucher {
  /** The channel, by its ID or its robust address. */
  channelAddr: FilecoinAddress
  timeLockMin: bigint
  /** 0 means no end. */
  timeLockMax: bigint
  /** Empty, or the blake2b-256 of the secret. The bytes are kept as written. */
  secretHash: Uint8Array
  extra: VoucherExtra | null
  lane: bigint
  nonce: bigint
  /** Cumulative on its lane. */
  amount: bigint
  minSettleHeight: bigint
  merges: VoucherMerge[]
  /** Null while unsigned. */
  signature: Signature | null
}

/** Accepted encodings of an amount: only the chain's own, or all that the chain reads. */
export type AmountForm = 'canonical' | 'loose'

/** The result encodes to the same bytes. Throws a `DecodeError`. */
export function decodeVoucher(bytes: Uint8Array): SignedVoucher {
  return readVoucher(decodeCbor(bytes), 'canonical')
}

/** Reads a voucher inside other CBOR. Throws a `DecodeError`. */
export function readVoucher(value: unknown, amountForm: AmountForm): SignedVoucher {
  const items = readTuple(value, [11], 'voucher')
  const readAmount = amountForm === 'loose' ? decodeLooseBigInt : decodeBigInt
  return {
    channelAddr: readAddress(items[0], 'voucher channel'),
    timeLockMin: readInt64(items[1], 'voucher time lock min'),
    timeLockMax: readInt64(items[2], 'voucher time lock max'),
    secretHash: readBytes(items[3], 'voucher secret hash'),
    extra: items[4] === null ? null : readExtra(items[4]),
    lane: readUint64(items[5], 'voucher lane'),
    nonce: readUint64(items[6], 'voucher nonce'),
    amount: readAmount(readBytes(items[7], 'voucher amount'), 'voucher amount'),
    minSettleHeight: readInt64(items[8], 'voucher min settle height'),
    merges: readArray(items[9], 'voucher merges').map(readMerge),
    signature: items[10] === null ? null : decodeSignature(readBytes(items[10], 'voucher signature')),
  }
}

function readExtra(value: unknown): VoucherExtra {
  const [actor, method, data] = readTuple(value, [3], 'voucher extra')
  return {
    actor: readAddress(actor, 'voucher extra actor'),
    method: readUint64(method, 'voucher extra method'),
    data: readBytes(data, 'voucher extra data'),
  }
}

function readMerge(value: unknown): VoucherMerge {
  const [lane, nonce] = readTuple(value, [2], 'voucher merge')
  return { lane: readUint64(lane, 'voucher merge lane'), nonce: readUint64(nonce, 'voucher merge nonce') }
}

/** Throws a RangeError when a field cannot hold its number. */
export function encodeVoucher(voucher: SignedVoucher): Uint8Array {
  return encodeCbor(voucherTuple(voucher))
}

/** Returns the voucher as the array of its CBOR fields. */
export function voucherTuple(voucher: SignedVoucher): unknown[] {
  const { extra, signature } = voucher
  return [
    encodeAddress(voucher.channelAddr),
    inInt64(voucher.timeLockMin, 'voucher time lock min'),
    inInt64(voucher.timeLockMax, 'voucher time lock max'),
    voucher.secretHash,
    extra && [encodeAddress(extra.actor), inUint64(extra.method, 'voucher extra method'), extra.data],
    inUint64(voucher.lane, 'voucher lane'),
    inUint64(voucher.nonce, 'voucher nonce'),
    encodeBigInt(voucher.amount),
    inInt64(voucher.minSettleHeight, 'voucher min settle height'),
    voucher.merges.map((merge) => [
      inUint64(merge.lane, 'voucher merge lane'),
      inUint64(merge.nonce, 'voucher merge nonce'),
    ]),
    signature && encodeSignature(signature),
  ]
}
