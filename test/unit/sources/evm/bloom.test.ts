import fc from 'fast-check'
import t from 'tap'
import { bloomBits, bloomOf, EMPTY_BLOOM, mayContain } from '../../../../indexer/sources/evm/bloom.ts'
import { cases } from '../../../helpers/cases.ts'

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const log = fc.record({
  address: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hexOf),
  topics: fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hexOf), { maxLength: 4 }),
})

void t.test('a bloom contains everything that made it, and is empty without logs', (t) => {
  fc.assert(
    fc.property(fc.array(log, { maxLength: 8 }), (logs) => {
      const bloom = bloomOf(logs)
      return logs.every(({ address, topics }) =>
        [address, ...topics].every((item) => mayContain(bloom, bloomBits(item))),
      )
    }),
    { numRuns: cases(50) },
  )
  t.equal(bloomOf([]), EMPTY_BLOOM)
  t.end()
})

void t.test('the bits are where the yellow paper puts them', (t) => {
  // keccak256(0x…0001) begins with b10e2d52 7612: bits 0x10e, 0x552 and 0x612 of 2048, counted from the right.
  const one = `0x${'00'.repeat(31)}01`
  const bloom = bloomOf([{ address: one, topics: [] }])
  const number = BigInt(bloom)
  t.equal(number, (1n << 0x10en) | (1n << 0x552n) | (1n << 0x612n))
  t.end()
})
