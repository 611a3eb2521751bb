import fc from 'fast-check'
import t from 'tap'
import { exceededBound } from '../../../../indexer/sources/rpc/json-bounds.ts'

const bound = (text: string, values = 1_000): string | null => exceededBound(Buffer.from(text), { values })

/** Brackets that open, and commas, outside of strings. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner: unknown[] = Object.values(value)
  return 1 + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, one) => sum + valuesIn(one), 0)
}

void t.test('the values of any JSON are counted, whatever its strings hold', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 2), (value, space) => {
      const text = JSON.stringify(value, null, space)
      const values = valuesIn(value)
      t.equal(bound(text, values), null)
      if (values > 0) t.equal(bound(text, values - 1), `more than ${values - 1} values`)
    }),
  )
  t.end()
})

void t.test('a text that would take more of the heap than its bytes is refused', (t) => {
  t.equal(bound(`{"result":[${'{},'.repeat(10_000)}`), 'more than 1000 values')
  t.equal(bound('[1,'.repeat(64)), null)
  for (const opening of ['[', '{"a":', '[{"a":', '[1,', ' [\n'])
    t.equal(bound(opening.repeat(1_000), 10_000), 'lists nested deeper than 64', opening)
  for (const word of ['9'.repeat(1_000_000), '-'.repeat(2_000), ' '.repeat(2_000), 'tru'.repeat(1_000)]) {
    t.equal(bound(`{"id":${word}}`), 'a number or word too long')
    t.equal(bound(`{"id":${word}`), 'a number or word too long')
  }
  t.end()
})

void t.test('a long string is one value, also with quotes and commas in it', (t) => {
  t.equal(bound(JSON.stringify({ a: '[{,"\\'.repeat(10_000) }), 1), null)
  t.equal(bound(`{"a":"${'x'.repeat(10_000)}`), null, 'and one without an end is for the parser to refuse')
  t.equal(bound(`{"a":"${'\\'.repeat(9_999)}`), null)
  for (let plain = 0; plain < 40; plain += 1)
    for (let escapes = 0; escapes < 40; escapes += 1) {
      const text = JSON.stringify(['x'.repeat(plain) + '\\'.repeat(escapes), `"${'\\"'.repeat(escapes)}`, 1])
      t.equal(bound(text, 3), null, text)
      t.equal(bound(text, 2), 'more than 2 values', text)
    }
  t.equal(exceededBound(Buffer.from([0xff, 0x22, 0xc3, 0x22, 0x2c]), { values: 1 }), null)
  t.end()
})
