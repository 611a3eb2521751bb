import fc from 'fast-check'
import t from 'tap'
import { LoanNumbers } from '../../../indexer/state-proof/loan-numbers.evolve.ts'

const numbersOf = (values: readonly number[]): LoanNumbers => {
  const numbers = new LoanNumbers()
  for (const value of values) numbers.note(BigInt(value))
  return numbers
}

void t.test('loans that a contract made and nobody noted are missing, whatever their order', (t) => {
  const number = fc.integer({ min: 1, max: 40 })
  fc.assert(
    fc.property(fc.array(number), number, fc.integer({ min: 0, max: 5 }), (noted, count, older) => {
      const missing = numbersOf(noted).missing(BigInt(count), BigInt(older), 1000)
      const expected = Array.from({ length: count }, (_, index) => index + 1).filter(
        (one) => one > older && !noted.includes(one),
      )
      t.same(
        missing.map(Number).sort((a, b) => a - b),
        expected,
      )
    }),
  )
  t.end()
})

void t.test('loans before the first known one may be older than the log', (t) => {
  const numbers = numbersOf([4, 6])
  t.same(numbers.missing(7n, null, 1000), [5n, 7n])
  t.equal(numbers.olderThanLog(7n, null), 3n)
  t.same(numbers.missing(7n, 2n, 1000), [3n, 5n, 7n], 'unless it is known how many are')
  t.equal(numbers.olderThanLog(7n, 2n), 2n)
  t.same(new LoanNumbers().missing(2n, null, 1000), [], 'a log without loans lacks none for sure')
  t.same(new LoanNumbers().missing(2n, 0n, 1), [1n], 'no more than asked for')
  t.end()
})
