import { readBytes, readTuple } from './cbor-fields.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { readVoucher, voucherTuple, type SignedVoucher } from './voucher-cbor.ts'

/** A plain transfer, to whatever receiver. */
export const SEND = 0n
/** Of the Init actor (`f01`): make an actor. */
export const INIT_EXEC = 2n
/** Of a channel: redeem a voucher. */
export const PAYCH_UPDATE = 2n
/** Of a channel: begin to close it. */
export const SETTLE = 3n
/** Of a channel: pay both parties and delete it. */
export const COLLECT = 4n

/** From `Settle` to `Collect`: 12 hours of 30 seconds each. */
export const SETTLE_DELAY_EPOCHS = 1440

/** Of `UpdateChannelState`. */
export interface UpdateParams {
  voucher: SignedVoucher
  /** Empty when none was given. */
  secret: Uint8Array
}

/**
 * Two elements, or three (a proof, unused) before actors version 2. Amounts are read as the chain reads them: what was
 * executed counts, even if its bytes are not the shortest, so `encodeUpdateParams` may give others than came in.
 * Throws a {@link DecodeError}.
 */
export function decodeUpdateParams(bytes: Uint8Array): UpdateParams {
  const [voucher, secret, ...proof] = readTuple(decodeCbor(bytes), [2, 3], 'UpdateChannelState params')
  proof.forEach((item) => readBytes(item, 'UpdateChannelState proof'))
  return {
    voucher: readVoucher(voucher, 'loose'),
    secret: readBytes(secret, 'UpdateChannelState secret'),
  }
}

/** In today's layout of two elements. */
export function encodeUpdateParams(params: UpdateParams): Uint8Array {
  return encodeCbor([voucherTuple(params.voucher), params.secret])
}
