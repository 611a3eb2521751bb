import { readBytes, readTuple } from '../../../shared/filecoin/cbor-fields.ts'
import { decodeCbor, encodeCbor } from '../../../shared/filecoin/cbor.ts'
import {
  decodeMessage,
  decodeSignature,
  encodeMessage,
  encodeSignature,
  signedMessageCid,
  type Message,
  type Signature,
} from '../../../shared/filecoin/message.ts'

/** A message as it came. */
export interface SignedMessage {
  message: Message
  signature: Signature
  /** By which nodes know it: of the signed message, for BLS of the unsigned one. */
  cid: string
  /** Length of its CBOR without the signature. */
  size: number
}

export function signedMessage(message: Message, signature: Signature): SignedMessage {
  const size = encodeMessage(message).length
  return { message, signature, cid: signedMessageCid(message, signature), size }
}

export function isBls({ signature }: SignedMessage): boolean {
  return signature.type === 2
}

/** Both parts as bytes, to keep them. */
export function encodeSignedMessage({ message, signature }: SignedMessage): Uint8Array {
  return encodeCbor([encodeMessage(message), encodeSignature(signature)])
}

export function decodeSignedMessage(bytes: Uint8Array): SignedMessage {
  const [message, signature] = readTuple(decodeCbor(bytes), [2], 'signed message')
  return signedMessage(
    decodeMessage(readBytes(message, 'message')),
    decodeSignature(readBytes(signature, 'signature')),
  )
}
