import t from 'tap'
import { binaryRows } from '../../../../shared/db/binary-rows.ts'

const KB = 1024

void t.test('a row is made when those before it have been given, and a part is never much', (t) => {
  const items = Array.from({ length: 10_000 }, (_, id) => id)
  const said = 'x'.repeat(100)
  let made = 0
  let given = 0
  for (const part of binaryRows({ id: 'bigint', said: 'text' }, items, (id) => {
    made += 1
    return { id, said }
  })) {
    if (part.length > 33 * KB) t.fail(`a part of ${part.length} bytes`)
    given += part.length
    // What is made and not given would be bytes that nobody has.
    if (made * said.length > given) t.fail(`${made} rows are made where ${given} bytes are given`)
  }
  t.equal(made, items.length)
  t.ok(given > made * said.length)
  t.end()
})

void t.test('a few rows take little, and a long one as much as it is', (t) => {
  const lengths = (said: string): number[] =>
    [...binaryRows({ said: 'text' }, ['a'], () => ({ said }))].map(({ length }) => length)
  // Signature, two words; a count and a length; the end.
  t.same(lengths('a'), [11 + 8 + 2 + 4 + 1 + 2])
  t.same(lengths('x'.repeat(100_000)), [11 + 8 + 2 + 4 + 100_000, 2])
  t.end()
})
