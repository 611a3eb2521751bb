import fc from 'fast-check'
import t from 'tap'
import { binaryRows } from '../../../../shared/db/binary-rows.ts'
import { WrittenRows } from '../../../../shared/db/written-rows.ts'

const COLUMNS = {
  id: 'bigint',
  place: 'integer',
  said: 'text',
  at: 'timestamptz',
} as const
interface Row {
  id: number
  place: number
  said: string | null
  at: Date
}

function bytesOf(parts: Iterable<Uint8Array>): Buffer {
  // Each is looked at when all were given: they are kept.
  return Buffer.concat([...parts])
}

/** Those of {@link binaryRows}, of which each is good until the next one. */
function expectedBytes(rows: readonly Row[]): Buffer {
  const parts: Buffer[] = []
  for (const part of binaryRows(COLUMNS, rows, (row) => row)) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}

const aRow = fc.record({
  id: fc.maxSafeInteger(),
  words: fc.option(fc.string({ unit: 'binary', maxLength: 40 })),
  // Longer than what is left of a block, and than a block.
  times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9_000 })),
  at: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
})

void t.test(
  'rows that were written down are those that are copied as they are made, but for the dropped',
  (t) => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(aRow, fc.nat(2), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })), {
          maxLength: 60,
        }),
        (wanted) => {
          const rows = new WrittenRows(COLUMNS)
          const told = wanted.map(([{ id, words, times, at }, fate, place]) => ({
            row: { id, place: 0, said: words?.repeat(times) ?? null, at },
            fate,
            place,
          }))
          for (const { row } of told) rows.add(row)
          // What others write meanwhile is no matter.
          const others = new WrittenRows(COLUMNS)
          others.add({ id: 1, place: 1, said: 'other', at: new Date() })
          for (const [number, { fate, place }] of told.entries()) {
            if (fate === 0) rows.drop(number)
            if (fate === 1) rows.setInteger(number, 'place', place)
          }
          const left = told.filter(({ fate }) => fate !== 0)
          t.equal(rows.size, left.length)
          const expected = left.map(({ row, fate, place }) => (fate === 1 ? { ...row, place } : row))
          if (!bytesOf(rows.parts()).equals(expectedBytes(expected))) throw new Error('other bytes')
          // The next ones are written where these were.
          rows.giveBack()
          others.giveBack()
        },
      ),
      { numRuns: 200 },
    )
    t.end()
  },
)

void t.test('a row that cannot be leaves nothing behind', (t) => {
  const rows = new WrittenRows(COLUMNS)
  const at = new Date(1)
  rows.add({ id: 1, place: 0, said: 'a', at })
  t.throws(() => rows.add({ id: 2, place: 0, said: 'b', at: new Date(NaN) }), RangeError)
  t.throws(() => rows.add({ id: 2 ** 60, place: 0, said: 'b', at }), /no safe integer/)
  t.equal(rows.add({ id: 3, place: 0, said: 'c', at }), 1)
  const expected = [
    { id: 1, place: 0, said: 'a', at },
    { id: 3, place: 0, said: 'c', at },
  ]
  t.ok(bytesOf(rows.parts()).equals(expectedBytes(expected)))
  t.end()
})

void t.test('an integer is said of a row that is there, and has one', (t) => {
  const rows = new WrittenRows({ ...COLUMNS, none: 'integer' })
  rows.add({ id: 1, place: 0, said: 'four', at: new Date(1), none: null })
  const before = bytesOf(rows.parts())
  t.throws(() => rows.setInteger(0, 'none', 1), /has no integer/)
  t.throws(() => rows.setInteger(0, 'id', 1), /id is no integer/)
  t.throws(() => rows.setInteger(0, 'said', 1), /said is no integer/)
  t.throws(() => rows.setInteger(1, 'place', 1), /there is no row 1/)
  t.throws(() => rows.setInteger(0, 'place', 2 ** 31), /no whole number/)
  t.ok(bytesOf(rows.parts()).equals(before))
  t.end()
})

void t.test('what was given back is not grown', (t) => {
  const rows = new WrittenRows(COLUMNS)
  rows.add({ id: 1, place: 0, said: 'x'.repeat(1_000_000), at: new Date(1) })
  rows.giveBack()
  const next = new WrittenRows(COLUMNS)
  const lengths: number[] = []
  for (let id = 0; id < 4_000; id += 1) next.add({ id, place: 0, said: 'y'.repeat(200), at: new Date(1) })
  for (const part of next.parts()) lengths.push(part.length)
  t.ok(Math.max(...lengths) <= 256 * 1024, `parts of ${lengths.join(', ')} bytes`)
  t.end()
})
