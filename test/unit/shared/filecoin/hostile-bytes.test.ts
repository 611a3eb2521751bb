import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { PAYMENT_CHANNEL_CODES } from '../../../../shared/filecoin/actor-codes.ts'
import { idAddress } from '../../../../shared/filecoin/address.ts'
import { decodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import {
  decodeConstructorParams,
  decodeExecParams,
  decodeExecReturn,
} from '../../../../shared/filecoin/init-actor.ts'
import { encodeMessage } from '../../../../shared/filecoin/message.ts'
import { decodeUpdateParams } from '../../../../shared/filecoin/payment-channel.ts'
import { decodeVoucher, encodeVoucher, voucherFromText } from '../../../../shared/filecoin/voucher.ts'
import { ADDRESS, bytes, MESSAGE, SIGNATURE, VOUCHER } from '../../../helpers/filecoin-arbitraries.ts'
import { cases } from '../../../helpers/cases.ts'
import {
  encodeConstructorParams,
  encodeExecParams,
  encodeExecReturn,
  decodeMessage,
  encodeUpdateParams,
} from '../../../../devnet/filecoin/codec.ts'
import { decodeSignature, encodeSignature } from '../../../../shared/filecoin/signature.ts'

interface Codec {
  valid: fc.Arbitrary<Uint8Array>
  /** Decodes and encodes again; the same bytes must come out, unless the codec forgives what the chain forgives. */
  again: (bytes: Uint8Array) => Uint8Array
}

const CODECS: Record<string, Codec> = {
  message: { valid: MESSAGE.map(encodeMessage), again: (b) => encodeMessage(decodeMessage(b)) },
  voucher: { valid: VOUCHER.map(encodeVoucher), again: (b) => encodeVoucher(decodeVoucher(b)) },
  signature: { valid: SIGNATURE.map(encodeSignature), again: (b) => encodeSignature(decodeSignature(b)) },
  execParams: {
    valid: fc
      .tuple(fc.constantFrom(...PAYMENT_CHANNEL_CODES), bytes(60))
      .map(([code, params]) => encodeExecParams(code, params)),
    again: (b) => encodeExecParams(decodeExecParams(b).codeCid, decodeExecParams(b).params),
  },
  constructorParams: {
    valid: fc.tuple(ADDRESS, ADDRESS).map(([from, to]) => encodeConstructorParams(from, to)),
    again: (b) => encodeConstructorParams(decodeConstructorParams(b).from, decodeConstructorParams(b).to),
  },
  execReturn: {
    valid: ADDRESS.map((robust) => encodeExecReturn(idAddress(1n), robust)),
    again: (b) => encodeExecReturn(decodeExecReturn(b).idAddress, decodeExecReturn(b).robustAddress),
  },
}

/** Valid bytes with a few spots overwritten, cut out, doubled or cut off. */
function mutated(valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const change = fc.record({
    kind: fc.constantFrom('overwrite', 'remove', 'insert', 'cut'),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.nat({ max: 255 }),
  })
  return fc.tuple(valid, fc.array(change, { minLength: 1, maxLength: 4 })).map(([valid, changes]) => {
    const bytes = [...valid]
    for (const { kind, at, byte } of changes) {
      const place = Math.floor(at * bytes.length)
      if (kind === 'overwrite') bytes[place] = byte
      else if (kind === 'remove') bytes.splice(place, 1)
      else if (kind === 'insert') bytes.splice(place, 0, byte)
      else bytes.length = place
    }
    return Uint8Array.from(bytes)
  })
}

for (const [name, { valid, again }] of Object.entries(CODECS)) {
  void t.test(`${name}: mutated or random bytes come out the same or as a DecodeError`, (t) => {
    let read = 0
    let refused = 0
    fc.assert(
      fc.property(fc.oneof(mutated(valid), bytes(200)), (bytes) => {
        try {
          const same = Buffer.compare(again(bytes), bytes) === 0
          read++
          return same
        } catch (error) {
          refused++
          return error instanceof DecodeError
        }
      }),
      { numRuns: 1000 },
    )
    t.ok(read > 0 && refused > 0, `${read} read, ${refused} refused: both ways were taken`)
    t.end()
  })
}

void t.test('update params: nothing but a DecodeError; what is read, reads the same again', (t) => {
  const valid = fc
    .tuple(VOUCHER, bytes(64))
    .map(([voucher, secret]) => encodeUpdateParams({ voucher, secret }))
  let read = 0
  fc.assert(
    fc.property(fc.oneof(mutated(valid), bytes(200)), (bytes) => {
      try {
        const params = decodeUpdateParams(bytes)
        read++
        return isDeepStrictEqual(decodeUpdateParams(encodeUpdateParams(params)), params)
      } catch (error) {
        return error instanceof DecodeError
      }
    }),
    { numRuns: 1000 },
  )
  t.ok(read > 0)
  t.end()
})

void t.test('any CBOR and any text: nothing but a DecodeError', (t) => {
  const deep = fc.array(
    fc.constantFrom(0x81, 0x82, 0x9a, 0xd8, 0x2a, 0x5b, 0x7f, 0xff, 0x00, 0x18, 0xfb, 0xa1),
  )
  const input = fc.oneof(
    bytes(300),
    deep.map((bytes) => Uint8Array.from(bytes)),
  )
  fc.assert(
    fc.property(input, (bytes) => throwsNothingElse(() => decodeCbor(bytes))),
    { numRuns: cases(3000) },
  )
  const texts = fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(texts, (text) => throwsNothingElse(() => voucherFromText(text))),
    { numRuns: cases(1000) },
  )
  t.pass('held')
  t.end()
})

function throwsNothingElse(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (error) {
    return error instanceof DecodeError
  }
}
