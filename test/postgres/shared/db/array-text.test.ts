import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { arraysAsText } from '../../../../shared/db/array-text.ts'
import { testDatabase } from '../../../helpers/database.ts'

const hostile = fc.constantFrom(
  '',
  '"',
  '\\',
  '\\"',
  ',',
  '{',
  '}',
  '{}',
  'NULL',
  'null',
  ' ',
  ' a ',
  '\n',
  '\t',
  "'",
  'ß',
  '😀',
)
const item = fc.oneof(
  hostile,
  fc.array(hostile).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme' }),
)
void t.test('Postgres reads the texts of a list as they are', async (t) => {
  const { db } = await testDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 12 }), async (list) => {
      t.type(arraysAsText(list), 'string')
      const { rows } = await sql<{ list: string[] }>`select ${list}::text[] as list`.execute(db)
      t.same(rows, [{ list }])
    }),
    { numRuns: 300 },
  )
})

void t.test('whatever else is asked with is left to the driver', async (t) => {
  const { db } = await testDatabase(t)
  for (const other of ['a', 1, null, new Date(0), [1, 2], [null], ['a', null], [['a'], ['b']], { a: ['b'] }])
    t.equal(arraysAsText(other), other)
  const { rows } = await sql`
    select ${[1, 2]}::bigint[] as numbers, ${['a', null]}::text[] as some, ${[['a'], ['b']]}::text[] as nested`.execute(
    db,
  )
  t.same(rows, [{ numbers: [1, 2], some: ['a', null], nested: [['a'], ['b']] }])
})
