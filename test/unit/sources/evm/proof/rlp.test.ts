import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import t from 'tap'
import { bytesOf, rlpBytes, rlpList, rlpNumber } from '../../../../../indexer/sources/evm/proof/rlp.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { cases } from '../../../../helpers/cases.ts'

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

void t.test('bytes, numbers and lists are encoded as by a library', (t) => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.uint8Array({ minLength: 250, maxLength: 70_000 }),
  )
  fc.assert(
    fc.property(
      fc.array(bytes, { maxLength: 5 }),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      (items, number) => {
        const ours = [
          ...items.map((item) => rlpBytes(`0x${hexOf(item)}`, 'item')),
          rlpNumber(`0x${number.toString(16)}`, 'n'),
        ]
        t.equal(rlpList(ours), hexOf(RLP.encode([...items, number])))
      },
    ),
    { numRuns: cases(50) },
  )
  for (const number of [0, 1, 127, 128, 255, 256]) {
    t.equal(rlpNumber(`0x${number.toString(16)}`, 'n'), hexOf(RLP.encode(number)))
    t.equal(
      rlpBytes(`0x${number.toString(16).padStart(4, '0')}`, 'n'),
      hexOf(RLP.encode(Uint8Array.of(number >> 8, number))),
    )
  }
  t.equal(rlpNumber('0x0007', 'n'), '07', 'leading zeros do not count')
  t.end()
})

void t.test('malformed hex is a bad answer', (t) => {
  for (const value of [null, 7, '', '12', '0x1', {}]) t.throws(() => rlpBytes(value, 'item'), BadAnswer)
  t.throws(() => rlpBytes('0x1234', 'item', 3), BadAnswer)
  for (const value of [null, 7, '0x', '0xg', '12', `0x${'1'.repeat(65)}`])
    t.throws(() => rlpNumber(value, 'n'), BadAnswer)
  t.throws(() => bytesOf('12g4'), BadAnswer)
  t.throws(() => bytesOf('zz'), BadAnswer)
  t.end()
})
