import fc from 'fast-check'
import t from 'tap'
import {
  clip,
  eventWords,
  exactTime,
  filecoinText,
  formatAmount,
  countOf,
  formatCount,
  formatDuration,
  fromBaseUnits,
  relativeTime,
  shorten,
  toMs,
} from '../../../api/page/lib/format.ts'

const HALF = /\p{Surrogate}/u

void t.test('anything long is shortened in the middle, and never in the middle of a character', (t) => {
  t.equal(shorten('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'), '0x709979…dc79C8')
  t.equal(shorten('t01037'), 't01037')
  t.equal(shorten('0123456789abcdef'), '0123456789abcdef', 'where that saves nothing it is left')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const short = shorten(text)
      return Array.from(short).length <= 16 && (short === text || HALF.test(short) === HALF.test(text))
    }),
  )
  t.equal(clip('a'.repeat(100), 3), 'aaa…')
  t.end()
})

void t.test('base units become exact decimal text', (t) => {
  t.equal(fromBaseUnits(1_500_000n, 6), '1.5')
  t.equal(fromBaseUnits(-5n, 18), '-0.000000000000000005')
  t.equal(fromBaseUnits(7n, 0), '7')
  fc.assert(
    fc.property(fc.bigInt(), fc.nat(40), (amount, decimals) => {
      const [, sign = '', whole = '', fraction = ''] =
        /^(-?)(\d+)(?:\.(\d+))?$/.exec(fromBaseUnits(amount, decimals)) ?? []
      return BigInt(`${sign}${whole}${fraction.padEnd(decimals, '0')}`) === amount && !fraction.endsWith('0')
    }),
  )
  t.end()
})

void t.test('an amount is grouped and cut, never rounded up', (t) => {
  for (const [text, wanted] of [
    ['13697.064280037449960157', '13,697.0642'],
    ['0.99999999', '0.9999'],
    ['1234567', '1,234,567'],
    ['0.000000000000000005', '0.000000000000000005'],
    ['0', '0'],
    ['0.0', '0'],
    ['-1000.50', '-1,000.5'],
    ['not a number', 'not a number'],
    ['1e9', '1e9'],
  ] as const)
    t.equal(formatAmount(text), wanted, text)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.nat(20), (amount, decimals) => {
      const shown = formatAmount(fromBaseUnits(amount, decimals)).replaceAll(',', '')
      const [whole = '', fraction = ''] = shown.split('.')
      const back = BigInt(whole + fraction.padEnd(decimals, '0'))
      return back <= amount && (amount === 0n) === (back === 0n)
    }),
  )
  t.end()
})

void t.test('lengths of time have two units, and distances one', (t) => {
  for (const [seconds, wanted] of [
    [0, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [7500, '2 h 5 min'],
    [86_400 * 3 + 7200 + 59, '3 d 2 h'],
    [86_401, '1 d'],
  ] as const)
    t.equal(formatDuration(seconds), wanted)
  const now = Date.UTC(2026, 10, 28)
  t.equal(relativeTime(now + 2000, now), 'now')
  t.equal(relativeTime(now - 65_000, now), '1 min ago')
  t.equal(relativeTime(now + 7_500_000, now), 'in 2 h')
  fc.assert(
    fc.property(fc.integer(), fc.integer(), (at, now) => !/NaN|undefined/.test(relativeTime(at, now))),
  )
  t.end()
})

void t.test('a moment is read from ISO and from Unix seconds, and told exactly in a zone', (t) => {
  t.equal(toMs('1795283285'), 1_795_283_285_000)
  t.equal(toMs('2026-11-21T17:48:47.640Z'), Date.UTC(2026, 10, 21, 17, 48, 47, 640))
  for (const text of ['', 'soon', '99999999999999999999']) t.equal(toMs(text), null, text)
  t.equal(exactTime(Date.UTC(2026, 10, 21, 17, 48, 47), 'Europe/Zurich'), '21 Nov 2026, 18:48:47 CET')
  t.equal(formatCount(1_234_567), '1,234,567')
  t.same(
    [0, 1, 1_234].map((count) => countOf(count, 'block')),
    ['0 blocks', '1 block', '1,234 blocks'],
  )
  t.end()
})

void t.test('a Filecoin address is read from the bytes of a contract, and other bytes are left', (t) => {
  t.equal(filecoinText('0x743031303232'), 't01022')
  t.equal(filecoinText('0x7430313033370000000000000000000000000000000000000000000000000000'), 't01037')
  // The last two are as long as a log's data can be: with quadratic work the test would not end.
  const zeros = '00'.repeat(500_000)
  for (const other of [
    '0x',
    '0x3c696d67',
    'no hex',
    '0x7430',
    '0x74303130323',
    `0x${zeros}01`,
    `0x74${zeros}01`,
  ])
    t.equal(filecoinText(other), other, shorten(other))
  t.end()
})

void t.test('an event is named in words', (t) => {
  t.equal(eventWords('CreateLoanOffer'), 'Create loan offer')
  t.equal(eventWords('LendFIL/SignWithdrawVoucher'), 'Sign withdraw voucher')
  t.equal(eventWords('LendERC20/LockCollateral'), 'Lock collateral')
  t.end()
})
