import { readBytes, readTuple } from '../../../shared/filecoin/cbor-fields.ts'
import { decodeCbor, encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { encodeMessage, type Message } from '../../../shared/filecoin/message.ts'
import { decodeMessage, signedMessageCid } from '../codec.ts'
import { decodeSignature, encodeSignature, type Signature } from '../../../shared/filecoin/signature.ts'

/** A message as received. */
export interface SignedMessage {
  message: Message
  signature: Signature
  /** The CID that nodes show: of the signed message, or for BLS of the unsigned one. */
  cid: string
  /** Length in bytes of its CBOR without the signature. */
  size: number
}

export function signedMessage(message: Message, signature: Signature): SignedMessage {
  const size = encodeMessage(message).length
  return { message, signature, cid: signedMessageCid(message, signature), size }
}

export function isBls({ signature }: SignedMessage): boolean {
  return signature.type === 2
}

/** Encodes both parts as bytes for storage. */
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
