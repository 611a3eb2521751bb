import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { idAddress } from '../../../../shared/filecoin/address.ts'
import { encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import { decodeUpdateParams } from '../../../../shared/filecoin/payment-channel.ts'
import {
  decodeVoucher,
  encodeVoucher,
  MAX_VOUCHER_TEXT_LENGTH,
  voucherFromText,
  voucherKey,
  voucherSigningBytes,
  voucherText,
  type SignedVoucher,
} from '../../../../shared/filecoin/voucher.ts'
import { bytes, VOUCHER } from '../../../helpers/filecoin-arbitraries.ts'
import { encodeUpdateParams } from '../../../../devnet/filecoin/codec.ts'

const UNSIGNED: SignedVoucher = {
  channelAddr: idAddress(1234n),
  timeLockMin: 0n,
  timeLockMax: 0n,
  secretHash: new Uint8Array(32).fill(7),
  extra: null,
  lane: 0n,
  nonce: 0n,
  amount: 100n * 10n ** 18n,
  minSettleHeight: 0n,
  merges: [],
  signature: null,
}

void t.test('vouchers survive bytes, both texts and the params of an update', (t) => {
  fc.assert(
    fc.property(VOUCHER, bytes(64), (voucher, secret) => {
      const plain = voucherText(voucher)
      const urlSafe = Buffer.from(plain, 'base64').toString('base64url')
      const update = decodeUpdateParams(encodeUpdateParams({ voucher, secret }))
      return (
        isDeepStrictEqual(decodeVoucher(encodeVoucher(voucher)), voucher) &&
        isDeepStrictEqual(voucherFromText(plain), voucher) &&
        isDeepStrictEqual(voucherFromText(urlSafe), voucher) &&
        isDeepStrictEqual(update, { voucher, secret })
      )
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('the key is the promise and not who signed it', (t) => {
  fc.assert(
    fc.property(VOUCHER, VOUCHER, (one, other) => {
      const again = { ...one, signature: other.signature }
      return voucherKey(again) === voucherKey(one) && voucherKey(other) !== voucherKey(one)
    }),
  )
  t.match(voucherKey(UNSIGNED), /^[0-9a-f]{64}$/)
  t.not(voucherKey(UNSIGNED), voucherKey({ ...UNSIGNED, nonce: 1n }))
  t.equal(voucherSigningBytes(UNSIGNED).at(-1), 0xf6, 'null in the signature’s place')
  t.end()
})

void t.test('each voucher has one text in either form', (t) => {
  const plain = voucherText(UNSIGNED)
  t.match(plain, /=$/, 'a text with padding, or this test shows nothing')
  for (const text of [
    '',
    '=',
    ' ',
    plain.replace(/=+$/, '='.repeat(3)),
    `${plain}=`,
    ` ${plain}`,
    `${plain}\n`,
    `${plain.slice(0, 20)}\n${plain.slice(20)}`,
    plain.slice(0, -4),
    `+${plain}`,
    plain.replace(/.(=+)$/, '/$1'),
    'not base64 at all',
    'ü'.repeat(100),
  ]) {
    t.throws(() => voucherFromText(text), DecodeError, JSON.stringify(text))
  }
  t.strictSame(voucherFromText(plain.replace(/=+$/, '')), UNSIGNED, 'without padding it is Lotus’ form')
  t.end()
})

void t.test('a text without padding that holds + or / is neither form', (t) => {
  const voucher = { ...UNSIGNED, secretHash: new Uint8Array(33).fill(0xff) }
  const plain = voucherText(voucher)
  t.match(plain, /\/.*=$/)
  t.strictSame(voucherFromText(plain), voucher)
  t.throws(() => voucherFromText(plain.replace(/=+$/, '')), /neither base64/)
  t.throws(() => voucherFromText(plain.replaceAll('/', '_')), /neither base64/)
  t.end()
})

void t.test('too long a text is refused before it is read', (t) => {
  t.throws(() => voucherFromText('A'.repeat(MAX_VOUCHER_TEXT_LENGTH + 1)), /longer than 87384 characters/)
  const begin = performance.now()
  t.throws(() => voucherFromText('!'.repeat(100_000_000)), /longer than/)
  t.ok(performance.now() - begin < 10_000)
  t.end()
})

void t.test('wrong fields are refused by name', (t) => {
  const tuple: unknown[] = [
    Uint8Array.of(0, 1),
    0,
    0,
    Uint8Array.of(),
    null,
    0,
    0,
    Uint8Array.of(),
    0,
    [],
    null,
  ]
  t.equal(decodeVoucher(encodeCbor(tuple)).lane, 0n, 'whole as it is')
  for (const [at, value, reason] of [
    [0, Uint8Array.of(7, 7), /^voucher channel: no address/],
    [1, 2n ** 63n, /^voucher time lock min/],
    [2, null, /^voucher time lock max: no integer/],
    [3, null, /^voucher secret hash: no bytes/],
    [4, [Uint8Array.of(0, 1), 2], /^voucher extra: 2 items/],
    [4, [Uint8Array.of(0, 1), -2, Uint8Array.of()], /^voucher extra method/],
    [5, -1, /^voucher lane/],
    [6, 'one', /^voucher nonce: no integer/],
    [7, Uint8Array.of(0, 0, 1), /^voucher amount: not in its shortest form/],
    [7, new Uint8Array(1000).fill(1), /^voucher amount: longer than/],
    [8, -(2n ** 63n) - 1n, /^voucher min settle height/],
    [9, null, /^voucher merges: no array/],
    [9, [[1, 2, 3]], /^voucher merge: 3 items/],
    [9, [[1, -2]], /^voucher merge nonce/],
    [10, Uint8Array.of(), /^signature: unknown type/],
    [10, [], /^voucher signature: no bytes/],
  ] as const) {
    const changed = encodeCbor(tuple.with(at, value))
    t.throws(() => decodeVoucher(changed), { name: 'DecodeError', message: reason }, String(reason))
  }
  t.throws(
    () => decodeVoucher(encodeCbor(tuple.slice(1))),
    /^DecodeError: voucher: 10 items|voucher: 10 items/,
  )
  t.end()
})

void t.test('as many merges as Lotus reads; a megabyte of them is refused at once', (t) => {
  const merges = Array.from({ length: 8192 }, (_, i) => ({ lane: BigInt(i), nonce: 2n ** 64n - 1n }))
  t.equal(decodeVoucher(encodeVoucher({ ...UNSIGNED, merges })).merges.length, 8192)
  const merge = Uint8Array.of(0x82, 0, 0)
  const count = 350_000
  const megabyte = Buffer.concat([
    encodeVoucher(UNSIGNED).subarray(0, -2),
    Buffer.from('9a00055730', 'hex'),
    ...Array<Uint8Array>(count).fill(merge),
    Uint8Array.of(0xf6),
  ])
  t.equal(megabyte.readUInt32BE(encodeVoucher(UNSIGNED).length - 1), count)
  const begin = performance.now()
  t.throws(() => decodeVoucher(megabyte), /more than 100000 items/)
  t.ok(performance.now() - begin < 20_000)
  t.end()
})

void t.test(
  'an executed update counts as the chain reads it: three elements, amounts with leading zeros',
  (t) => {
    const tuple: unknown[] = [
      Uint8Array.of(0, 1),
      0,
      0,
      Uint8Array.of(),
      null,
      0,
      0,
      Uint8Array.of(0, 0, 5),
      0,
      [],
      null,
    ]
    const secret = Uint8Array.of(1)
    for (const params of [
      [tuple, secret],
      [tuple, secret, Uint8Array.of()],
    ]) {
      const update = decodeUpdateParams(encodeCbor(params))
      t.equal(update.voucher.amount, 5n)
      t.strictSame(update.secret, secret)
      t.strictSame(decodeUpdateParams(encodeUpdateParams(update)), update)
    }
    for (const params of [
      [tuple],
      [tuple, null],
      [tuple, secret, 1],
      [tuple, secret, secret, secret],
      [null, secret],
    ]) {
      t.throws(() => decodeUpdateParams(encodeCbor(params)), DecodeError)
    }
    t.end()
  },
)

void t.test('what no field can hold is the writer’s mistake', (t) => {
  t.throws(() => encodeVoucher({ ...UNSIGNED, lane: -1n }), RangeError)
  t.throws(() => encodeVoucher({ ...UNSIGNED, timeLockMax: 2n ** 63n }), RangeError)
  t.throws(() => encodeVoucher({ ...UNSIGNED, merges: [{ lane: 1n, nonce: 2n ** 64n }] }), RangeError)
  t.end()
})
