import { readBytes, readTuple } from './cbor-fields.ts'
import { decodeCbor } from './cbor.ts'
import { readVoucher, type SignedVoucher } from './voucher-cbor.ts'

/** A plain transfer, to any receiver. */
export const SEND = 0n
/** Init actor (`f01`): create an actor. */
export const INIT_EXEC = 2n
/** Channel: redeem a voucher. */
export const PAYCH_UPDATE = 2n
/** Channel: begin to close it. */
export const SETTLE = 3n
/** Channel: pay both parties and delete it. */
export const COLLECT = 4n

/** Epochs from `Settle` to `Collect`: 12 hours of 30-second epochs. */
export const SETTLE_DELAY_EPOCHS = 1440

/** Parameters of `UpdateChannelState`. */
export interface UpdateParams {
  voucher: SignedVoucher
  /** Empty when none was given. */
  secret: Uint8Array
}

/**
 * Decodes two elements, or three (with an unused proof) before actors version 2. Amounts are read as leniently as the
 * chain reads them. Throws a `DecodeError`.
 */
export function decodeUpdateParams(bytes: Uint8Array): UpdateParams {
  const [voucher, secret, ...proof] = readTuple(decodeCbor(bytes), [2, 3], 'UpdateChannelState params')
  proof.forEach((item) => readBytes(item, 'UpdateChannelState proof'))
  return {
    voucher: readVoucher(voucher, 'loose'),
    secret: readBytes(secret, 'UpdateChannelState secret'),
  }
}
