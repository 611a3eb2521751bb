import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import t from 'tap'
import { idAddress } from '../../../../shared/filecoin/address.ts'
import { parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { cidOfBytes } from '../../../../shared/filecoin/cid.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import { encodeMessage, messageCid, type Message } from '../../../../shared/filecoin/message.ts'
import { MESSAGE, SIGNATURE } from '../../../helpers/filecoin-arbitraries.ts'
import { decodeMessage, messageSigningBytes, signedMessageCid } from '../../../../devnet/filecoin/codec.ts'
import { decodeSignature, encodeSignature } from '../../../../shared/filecoin/signature.ts'

const SEND: Message = {
  version: 0,
  to: idAddress(1n),
  from: idAddress(100n),
  nonce: 0n,
  value: 1n,
  gasLimit: 1n,
  gasFeeCap: 0n,
  gasPremium: 0n,
  method: 0n,
  params: new Uint8Array(),
}

void t.test('messages and signatures survive their encoding', (t) => {
  fc.assert(
    fc.property(MESSAGE, (message) => isDeepStrictEqual(decodeMessage(encodeMessage(message)), message)),
  )
  fc.assert(fc.property(SIGNATURE, (sig) => isDeepStrictEqual(decodeSignature(encodeSignature(sig)), sig)))
  t.pass('held')
  t.end()
})

void t.test('a BLS signature is no part of the CID, any other is', (t) => {
  const data = new Uint8Array(65)
  t.equal(signedMessageCid(SEND, { type: 2, data }), messageCid(SEND))
  const signed = signedMessageCid(SEND, { type: 1, data })
  t.not(signed, messageCid(SEND))
  t.not(signed, signedMessageCid(SEND, { type: 3, data }))
  t.not(signedMessageCid(SEND, { type: 3, data }), messageCid(SEND))
  t.not(signed, signedMessageCid({ ...SEND, gasPremium: 1n }, { type: 1, data }), 'a fee bump renames')
  t.end()
})

void t.test('a CID: 38 bytes, and its text leads back to them', (t) => {
  const signing = messageSigningBytes(SEND)
  t.equal(signing.length, 38)
  t.equal(Buffer.from(signing.subarray(0, 6)).toString('hex'), '0171a0e40220')
  t.strictSame(parseCid(messageCid(SEND)), signing)
  t.strictSame(parseCid(cidOfBytes(Uint8Array.of(1))), CID.parse(cidOfBytes(Uint8Array.of(1))).bytes)
  const base58 = CID.decode(signing).toString(base58btc)
  t.match(base58, /^z/)
  for (const text of [
    '',
    'bafy',
    'x',
    messageCid(SEND).toUpperCase(),
    base58,
    `${messageCid(SEND)}a`,
    'b'.repeat(1e6),
  ])
    t.equal(parseCid(text), null, text.slice(0, 20))
  t.end()
})

void t.test('what is not a message is refused by the name of the field', (t) => {
  const tuple: unknown[] = [
    0,
    Uint8Array.of(0, 1),
    Uint8Array.of(0, 2),
    0,
    Uint8Array.of(),
    0,
    Uint8Array.of(),
    Uint8Array.of(),
    0,
  ]
  const whole = [...tuple, Uint8Array.of()]
  t.equal(decodeMessage(encodeCbor(whole)).nonce, 0n, 'whole as it is')
  for (const [value, reason] of [
    [tuple, /^message: 9 items/],
    [[...whole, 0], /^message: 11 items/],
    [0, /^message: no array/],
    [whole.with(0, 1), /^message version/],
    [whole.with(1, Uint8Array.of(9)), /^message to: no address/],
    [whole.with(2, 5), /^message from: no bytes/],
    [whole.with(3, -1), /^message nonce: not from 0/],
    [whole.with(4, Uint8Array.of(7)), /^message value: sign byte/],
    [whole.with(4, Uint8Array.of(0, 0, 7)), /^message value: not in its shortest form/],
    [whole.with(5, 2n ** 64n - 1n), /^message gas limit: not within/],
    [whole.with(8, Uint8Array.of()), /^message method: no integer/],
    [whole.with(9, null), /^message params: no bytes/],
  ] as const) {
    t.throws(() => decodeMessage(encodeCbor(value)), { name: 'DecodeError', message: reason })
  }
  t.end()
})

void t.test('what no field can hold is the writer’s mistake', (t) => {
  t.throws(() => encodeMessage({ ...SEND, nonce: 2n ** 64n }), RangeError)
  t.throws(() => encodeMessage({ ...SEND, gasLimit: 2n ** 63n }), RangeError)
  t.throws(() => encodeMessage({ ...SEND, version: 1 }), RangeError)
  t.throws(() => encodeMessage({ ...SEND, value: 2n ** 1016n }), RangeError)
  t.end()
})

void t.test('signatures of unknown type, empty or endless', (t) => {
  for (const bytes of [[], [0], [4, 1], [255], [1, ...Array<number>(200).fill(0)]]) {
    t.throws(() => decodeSignature(Uint8Array.from(bytes)), DecodeError)
  }
  t.end()
})
