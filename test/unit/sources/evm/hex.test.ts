import fc from 'fast-check'
import t from 'tap'
import { parseHex } from '../../../../indexer/sources/evm/hex.ts'
import { cases } from '../../../helpers/cases.ts'

/** Characters whose lower byte is a digit's: what only looks at bytes takes them for it. */
const DECEIVING = ['\u0130', '\u0131', '\u0161', '\u2639', '\u3046']
const digit = fc.constantFrom(...'0123456789abcdef'.split(''))
const anything = fc.constantFrom(...'0123456789abcdefABCDEFxgG \n\0'.split(''), ...DECEIVING)

void t.test('hex is lower-case hex of whole bytes, short or long, and nothing else is', (t) => {
  const digits = fc.oneof(
    fc.array(digit, { maxLength: 400 }).map((all) => all.join('')),
    fc.array(anything, { maxLength: 12 }).map((all) => all.join('')),
    // Long, and wrong in one place at most.
    fc.tuple(fc.integer({ min: 30, max: 800 }), fc.nat(), anything).map(([length, at, wrong]) =>
      'a9'
        .repeat(length)
        .split('')
        .with(at % (length * 2), wrong)
        .join(''),
    ),
  )
  fc.assert(
    fc.property(fc.constantFrom('0x', '', '0X', 'x0'), digits, (prefix, rest) => {
      const text = prefix + rest
      const isHex = /^0x[0-9a-fA-F]*$/.test(text) && text.length % 2 === 0
      return parseHex(text) === (isHex ? text.toLowerCase() : null)
    }),
    { numRuns: cases(3_000) },
  )
  t.pass('3,000 texts')
  t.end()
})

void t.test('of a length that is given, and of texts alone', (t) => {
  t.equal(parseHex('0x0aFF', 2), '0x0aff')
  t.equal(parseHex('0x0aFF', 3), null)
  t.equal(parseHex(`0x${'Ab'.repeat(256)}`, 256), `0x${'ab'.repeat(256)}`)
  for (const other of [null, undefined, 12, [], {}, '0x0']) t.equal(parseHex(other), null)
  t.end()
})

void t.test('long texts are checked to their last digit', (t) => {
  for (const digits of [131_070, 131_072, 131_074, 300_000]) {
    const text = `0x${'5f'.repeat(digits / 2)}`
    t.equal(parseHex(text), text, `${digits} digits`)
    for (const wrong of ['g', 'ÿ', '\u0130']) t.equal(parseHex(`${text.slice(0, -1)}${wrong}`), null, wrong)
    t.equal(parseHex(`${text.slice(0, -1)}F`), text, 'in the other case')
  }
  t.end()
})
