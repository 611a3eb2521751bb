import fc from 'fast-check'
import t from 'tap'
import { decodeBigInt, decodeLooseBigInt, encodeBigInt } from '../../../../shared/filecoin/big-integer.ts'
import { decodeCbor, encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import { BIG_INTEGER, bytes, UINT64 } from '../../../helpers/filecoin-arbitraries.ts'

const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))

void t.test('what is not the one way to write a value is refused', (t) => {
  for (const [hex, what] of [
    ['', 'nothing'],
    ['1817', 'a number in too many bytes'],
    ['190018', 'a number in too many bytes'],
    ['1b0000000000000001', 'a number in too many bytes'],
    ['580101', 'a length in too many bytes'],
    ['9f01ff', 'an indefinite array'],
    ['5f4101ff', 'indefinite bytes'],
    ['0101', 'bytes after the value'],
    ['82', 'a missing item'],
    ['8201', 'a missing item'],
    ['ff', 'a break'],
    ['f7', 'undefined'],
    ['fb3ff8000000000000', 'a float'],
    ['a10102', 'a map'],
    ['a0', 'an empty map'],
    ['61ff', 'text that is not UTF-8'],
    ['c101', 'a tag that is none of ours'],
    ['c240', 'a bignum'],
    ['d82a01', 'tag 42 around a number'],
    ['d82a40', 'tag 42 around nothing'],
    ['d82a4100', 'tag 42 around an empty CID'],
    ['d82a430001', 'tag 42 cut off'],
    ['d82a450000550000', 'a CID with a written version 0'],
    ['d82a46008100550000', 'a CID with a version in too many bytes'],
    ['d82a46000155800000', 'a CID with a hash code in too many bytes'],
    ['d82a46000155000301', 'a CID with a hash length that lies'],
    ['5bffffffffffffffff', 'a length that lies'],
    ['9affffffff00', 'a length that lies'],
    ['9b001fffffffffffff', 'a length that lies'],
  ] as const) {
    t.throws(() => decodeCbor(fromHex(hex)), DecodeError, `${what}: ${hex}`)
  }
  t.end()
})

void t.test('the shortest CID is read, and written the same', (t) => {
  const shortest = fromHex('d82a450001550000')
  t.strictSame(encodeCbor(decodeCbor(shortest)), shortest)
  t.end()
})

void t.test('integers of 64 bits keep every digit', (t) => {
  fc.assert(
    fc.property(UINT64, (value) => {
      const decoded = decodeCbor(encodeCbor(value))
      return (typeof decoded === 'bigint' || typeof decoded === 'number') && BigInt(decoded) === value
    }),
  )
  t.equal(decodeCbor(fromHex('1bffffffffffffffff')), 2n ** 64n - 1n)
  t.equal(decodeCbor(fromHex('3b7fffffffffffffff')), -(2n ** 63n))
  t.end()
})

void t.test('bombs go off early', (t) => {
  const begin = performance.now()
  t.throws(() => decodeCbor(new Uint8Array(2_000_000).fill(0x81)), /levels deep/)
  t.throws(() => decodeCbor(Buffer.from('d82a'.repeat(1_000_000), 'hex')), /levels deep/)
  t.throws(() => decodeCbor(Buffer.concat([fromHex('9a001e8480'), Buffer.alloc(2_000_000)])), /items/)
  t.throws(() => decodeCbor(new Uint8Array(2_000_000).fill(0x9a)), DecodeError)
  t.ok(performance.now() - begin < 20_000, 'within seconds even on a busy machine')
  t.end()
})

void t.test('what is decoded shares no memory with what came in', (t) => {
  const input = Buffer.from('420102', 'hex')
  const decoded = decodeCbor(input)
  input.fill(0)
  t.strictSame(decoded, Uint8Array.of(1, 2))
  t.end()
})

void t.test('big integers: one way for each, the sign kept, 127 bytes at most', (t) => {
  fc.assert(fc.property(BIG_INTEGER, (value) => decodeBigInt(encodeBigInt(value)) === value))
  fc.assert(
    fc.property(bytes(130), (bytes) => {
      try {
        return Buffer.compare(encodeBigInt(decodeBigInt(bytes)), bytes) === 0
      } catch (error) {
        return error instanceof DecodeError
      }
    }),
  )
  t.strictSame(encodeBigInt(10000n), fromHex('002710'))
  t.strictSame(encodeBigInt(0n), new Uint8Array())
  for (const hex of ['00', '01', '0000', '000001', '0201', 'ff', `00${'ff'.repeat(128)}`]) {
    t.throws(() => decodeBigInt(fromHex(hex)), DecodeError, hex.slice(0, 20))
  }
  t.throws(() => encodeBigInt(2n ** 1016n), RangeError)
  t.end()
})

void t.test('what the chain also reads as a big integer', (t) => {
  t.equal(decodeLooseBigInt(fromHex('00')), 0n)
  t.equal(decodeLooseBigInt(fromHex('01')), 0n)
  t.equal(decodeLooseBigInt(fromHex('0000000a')), 10n)
  t.equal(decodeLooseBigInt(fromHex('01000a')), -10n)
  t.throws(() => decodeLooseBigInt(fromHex('02')), DecodeError)
  t.throws(() => decodeLooseBigInt(new Uint8Array(129)), DecodeError)
  t.end()
})
