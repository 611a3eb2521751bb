import { encodeAddress, type FilecoinAddress } from './address.ts'
import { encodeBigInt } from './big-integer.ts'
import {
  inInt64,
  inUint64,
  readAddress,
  readBigInt,
  readBytes,
  readInt64,
  readTuple,
  readUint64,
} from './cbor-fields.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { cidBytesOf, cidOfBytes } from './cid.ts'
import { DecodeError } from './decode-error.ts'
import { encodeSignature, type Signature } from './signature.ts'

export { cidOfBytes, parseCid } from './cid.ts'
export { decodeSignature, encodeSignature, type Signature } from './signature.ts'

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

const BLS_SIGNATURE = 2

/** Returns the message as CBOR. Throws a RangeError when a field cannot hold its number. */
export function encodeMessage(message: Message): Uint8Array {
  return encodeCbor(messageTuple(message))
}

function messageTuple(message: Message): unknown[] {
  if (message.version !== 0) throw new RangeError('message version: not 0')
  return [
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
  ]
}

/** Throws a {@link DecodeError}. The result encodes to the same bytes. */
export function decodeMessage(bytes: Uint8Array): Message {
  const items = readTuple(decodeCbor(bytes), [10], 'message')
  if (items[0] !== 0) throw new DecodeError('message version: not 0')
  return {
    version: 0,
    to: readAddress(items[1], 'message to'),
    from: readAddress(items[2], 'message from'),
    nonce: readUint64(items[3], 'message nonce'),
    value: readBigInt(items[4], 'message value'),
    gasLimit: readInt64(items[5], 'message gas limit'),
    gasFeeCap: readBigInt(items[6], 'message gas fee cap'),
    gasPremium: readBigInt(items[7], 'message gas premium'),
    method: readUint64(items[8], 'message method'),
    params: readBytes(items[9], 'message params'),
  }
}

/** Returns the unsigned message's CID: the node's `Message.CID`, by which a BLS sender's message is known. */
export function messageCid(message: Message): string {
  return cidOfBytes(encodeMessage(message))
}

/** Returns what the sender signs: the bytes of the unsigned message's CID. */
export function messageSigningBytes(message: Message): Uint8Array {
  return cidBytesOf(encodeMessage(message))
}

/** Returns the CID by which nodes and explorers know the message. */
export function signedMessageCid(message: Message, signature: Signature): string {
  if (signature.type === BLS_SIGNATURE) return messageCid(message)
  return cidOfBytes(encodeCbor([messageTuple(message), encodeSignature(signature)]))
}
