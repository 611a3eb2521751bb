import { encodeAddress, type FilecoinAddress } from './address.ts'
import { encodeBigInt } from './big-integer.ts'
import { inInt64, inUint64 } from './cbor-fields.ts'
import { encodeCbor } from './cbor.ts'
import { cidOfBytes } from './cid.ts'

/** An unsigned message. Amounts are attoFIL. */
export interface Message {
  /** 0, the only version. */
  version: number
  to: FilecoinAddress
  from: FilecoinAddress
  nonce: bigint
  value: bigint
  gasLimit: bigint
  /** Per unit of gas. */
  gasFeeCap: bigint
  /** Per unit of gas. */
  gasPremium: bigint
  method: bigint
  /** Empty when the method takes none. */
  params: Uint8Array
}

/** Returns the message as CBOR. Throws a RangeError when a field cannot hold its number. */
export function encodeMessage(message: Message): Uint8Array {
  if (message.version !== 0) throw new RangeError('message version: not 0')
  return encodeCbor([
    message.version,
    encodeAddress(message.to),
    encodeAddress(message.from),
    inUint64(message.nonce, 'message nonce'),
    encodeBigInt(message.value),
    inInt64(message.gasLimit, 'message gas limit'),
    encodeBigInt(message.gasFeeCap),
    encodeBigInt(message.gasPremium),
    inUint64(message.method, 'message method'),
    message.params,
  ])
}

/** Returns the unsigned message's CID: the node's `Message.CID`, by which a BLS sender's message is known. */
export function messageCid(message: Message): string {
  return cidOfBytes(encodeMessage(message))
}
