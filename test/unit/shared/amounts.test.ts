import fc from 'fast-check'
import t from 'tap'
import { formatUnits, parseUnits } from '../../../shared/amounts.ts'

const UINT256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const DECIMALS = fc.nat({ max: 77 })

void t.test('known amounts', (t) => {
  for (const [amount, decimals, text] of [
    [0n, 18, '0'],
    [1n, 18, '0.000000000000000001'],
    [100n * 10n ** 18n, 18, '100'],
    [1_500_000n, 6, '1.5'],
    [10n, 0, '10'],
    [-25n, 1, '-2.5'],
    [2n ** 256n - 1n, 0, `${2n ** 256n - 1n}`],
  ] as const) {
    t.equal(formatUnits(amount, decimals), text)
    t.equal(parseUnits(text, decimals), amount)
  }
  t.end()
})

void t.test('what is formatted is parsed to the same amount, sign and all', (t) => {
  fc.assert(
    fc.property(UINT256, DECIMALS, fc.boolean(), (size, decimals, negative) => {
      const amount = negative ? -size : size
      return parseUnits(formatUnits(amount, decimals), decimals) === amount
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('the text is plain: no exponent, no trailing zero, no bare point', (t) => {
  fc.assert(
    fc.property(UINT256, DECIMALS, (amount, decimals) =>
      /^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(formatUnits(amount, decimals)),
    ),
  )
  t.pass('held')
  t.end()
})

void t.test('text says the amount divided by 10^decimals, exactly', (t) => {
  fc.assert(
    fc.property(UINT256, DECIMALS, (amount, decimals) => {
      const [whole = '', fraction = ''] = formatUnits(amount, decimals).split('.')
      return (
        BigInt(whole) === amount / 10n ** BigInt(decimals) &&
        BigInt(fraction.padEnd(decimals, '0') || '0') === amount % 10n ** BigInt(decimals)
      )
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('what is not an exact amount is refused', (t) => {
  for (const text of ['', '.5', '5.', '1e18', '1,5', ' 1', '+1', '0x1', '1.2.3', 'NaN', '١']) {
    t.throws(() => parseUnits(text, 18), RangeError, text)
  }
  t.throws(() => parseUnits('0.01', 1), RangeError, 'more decimals than there are')
  for (const decimals of [-1, 1.5, NaN]) t.throws(() => formatUnits(1n, decimals), RangeError)
  t.end()
})
