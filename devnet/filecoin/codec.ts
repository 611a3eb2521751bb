import { CID } from 'multiformats/cid'
import { encodeAddress, type FilecoinAddress } from '../../shared/filecoin/address.ts'
import { decodeBigInt } from '../../shared/filecoin/big-integer.ts'
import { blake2b160 } from '../../shared/filecoin/blake2b.ts'
import { concatBytes } from '../../shared/filecoin/bytes.ts'
import {
  readAddress,
  readBytes,
  readInt64,
  readTuple,
  readUint64,
} from '../../shared/filecoin/cbor-fields.ts'
import { decodeCbor, encodeCbor } from '../../shared/filecoin/cbor.ts'
import { cidOfBytes } from '../../shared/filecoin/cid.ts'
import { DecodeError } from '../../shared/filecoin/decode-error.ts'
import { encodeMessage, messageCid, type Message } from '../../shared/filecoin/message.ts'
import type { UpdateParams } from '../../shared/filecoin/payment-channel.ts'
import { encodeSignature, type Signature } from '../../shared/filecoin/signature.ts'
import { voucherTuple } from '../../shared/filecoin/voucher-cbor.ts'

/** Encoders that only a chain needs: new addresses, parameters and returns of actors, signed messages. */

const BLS_KEY_BYTES = 48
const BLS_SIGNATURE = 2

/** Returns `f2…` for a seed. */
export function actorAddress(seed: Uint8Array): FilecoinAddress {
  return { protocol: 2, payload: blake2b160(seed) }
}

/** Returns `f3…` for a public key (48 bytes). */
export function blsAddress(publicKey: Uint8Array): FilecoinAddress {
  if (publicKey.length !== BLS_KEY_BYTES) throw new RangeError('A BLS public key has 48 bytes')
  return { protocol: 3, payload: publicKey }
}

/**
 * Returns the robust address of the actor that a message creates. `sender` is the message's `from` as written;
 * `counter` numbers the actors that one message creates.
 */
export function createdActorAddress(sender: FilecoinAddress, nonce: bigint, counter = 0n): FilecoinAddress {
  return actorAddress(
    concatBytes(encodeCbor(encodeAddress(sender)), bigEndian64(nonce), bigEndian64(counter)),
  )
}

/** Encodes a whole number below 2^64 as eight bytes, the highest first. */
export function bigEndian64(value: bigint): Uint8Array {
  if (value < 0n || value >= 1n << 64n) throw new RangeError(`${value.toString()} is no 64-bit number`)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}

export function encodeExecParams(codeCid: string, constructorParams: Uint8Array): Uint8Array {
  return encodeCbor([CID.parse(codeCid), constructorParams])
}

export function encodeConstructorParams(from: FilecoinAddress, to: FilecoinAddress): Uint8Array {
  return encodeCbor([encodeAddress(from), encodeAddress(to)])
}

export function encodeExecReturn(id: FilecoinAddress, robust: FilecoinAddress): Uint8Array {
  return encodeCbor([encodeAddress(id), encodeAddress(robust)])
}

/** Encodes today's layout of two elements. */
export function encodeUpdateParams(params: UpdateParams): Uint8Array {
  return encodeCbor([voucherTuple(params.voucher), params.secret])
}

/** Throws a {@link DecodeError}. The result encodes to the same bytes. */
export function decodeMessage(bytes: Uint8Array): Message {
  const items = readTuple(decodeCbor(bytes), [10], 'message')
  const amount = (item: unknown, field: string): bigint => decodeBigInt(readBytes(item, field), field)
  if (items[0] !== 0) throw new DecodeError('message version: not 0')
  return {
    version: 0,
    to: readAddress(items[1], 'message to'),
    from: readAddress(items[2], 'message from'),
    nonce: readUint64(items[3], 'message nonce'),
    value: amount(items[4], 'message value'),
    gasLimit: readInt64(items[5], 'message gas limit'),
    gasFeeCap: amount(items[6], 'message gas fee cap'),
    gasPremium: amount(items[7], 'message gas premium'),
    method: readUint64(items[8], 'message method'),
    params: readBytes(items[9], 'message params'),
  }
}

/** Returns what the sender signs: the bytes of the unsigned message's CID. */
export function messageSigningBytes(message: Message): Uint8Array {
  return CID.parse(messageCid(message)).bytes
}

/** Returns the CID by which nodes and explorers know the message. */
export function signedMessageCid(message: Message, signature: Signature): string {
  if (signature.type === BLS_SIGNATURE) return messageCid(message)
  return cidOfBytes(encodeCbor([decodeCbor(encodeMessage(message)), encodeSignature(signature)]))
}
