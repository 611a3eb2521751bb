import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseLotusJson } from '../../../../shared/filecoin/lotus-json.ts'

void t.test('bare integers keep every digit, in every place where one can stand', (t) => {
  t.strictSame(
    parseLotusJson(
      '{"Nonce":18446744073709551615, "Lane": -9007199254740993,"a":[9007199254740993,\n 9223372036854775807],"s":"9007199254740993"}',
    ),
    {
      Nonce: 18446744073709551615n,
      Lane: -9007199254740993n,
      a: [9007199254740993n, 9223372036854775807n],
      s: '9007199254740993',
    },
  )
  t.equal(parseLotusJson('18446744073709551615'), 18446744073709551615n)
  t.equal(parseLotusJson(' -9007199254740993'), -9007199254740993n)
  t.equal(parseLotusJson(`1${'0'.repeat(400)}`), 10n ** 400n)
  t.end()
})

void t.test('all else is as JSON.parse has it', (t) => {
  const text =
    '{"Height":9007199254740991,"x":1.5e30,"y":0.12345678901234567890,"Value":"5000000000000000000","n":null,"t":[true,false,{}]}'
  t.strictSame(parseLotusJson(text), JSON.parse(text))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify([value, '{"x":12345678901234567}'])
      return isDeepStrictEqual(parseLotusJson(text), JSON.parse(text, exactInteger))
    }),
  )
  t.end()
})

/** JSON writes integers below 1e21 without an exponent: those are bigint where they are not safe. */
function exactInteger(_key: string, value: unknown): unknown {
  const inexact = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return inexact && Math.abs(value) < 1e21 ? BigInt(String(value)) : value
}

void t.test('any 64-bit integer among others survives', (t) => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n })), (values) => {
      const parsed = parseLotusJson(`{"v":[${values.join(',')}]}`)
      const safe = (value: bigint): boolean => value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n
      return isDeepStrictEqual(parsed, { v: values.map((value) => (safe(value) ? Number(value) : value)) })
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('a text that is no JSON is a SyntaxError, in both ways of reading', (t) => {
  for (const text of ['', '{', '[1234567890123456789', '[1234567890123456789,]', '<html>']) {
    t.throws(() => parseLotusJson(text), SyntaxError, text)
  }
  t.throws(() => parseLotusJson(`[1234567890123456789,${'['.repeat(1_000_000)}`), SyntaxError, 'a bomb')
  t.end()
})

void t.test('how deep a value nests does not matter where no integer is long', (t) => {
  const deep = `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`
  t.ok(Array.isArray(parseLotusJson(deep)))
  const both = `[1234567890123456789,${deep}]`
  t.throws(() => parseLotusJson(both), { name: 'SyntaxError', message: 'JSON nests too deep' })
  t.end()
})
