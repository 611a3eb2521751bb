import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { connect, type Db } from '../../../../shared/db/connect.ts'
import { copyRows } from '../../../../shared/db/copy-rows.ts'
import { readRows } from '../../../../shared/db/read-rows.ts'
import { inTransaction, isDatabaseRetryable, overlapping } from '../../../../shared/db/transaction.ts'
import { testDatabase } from '../../../helpers/database.ts'
import { untrustyLink } from '../../../helpers/untrusty-link.ts'

/** The bytes of the one are the characters of the other. */
const LOOKALIKES = ['é', 'Ã©', 'éé', 'a', 'b', 'ab', '', '\u007f', '\u0080']

void t.test('what was written is what is read, whatever rows have in common', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.kept (id bigint, said text, other text, body json, at timestamptz(3), amount bigint)`.execute(
    db,
  )
  const columns = {
    id: 'bigint',
    said: 'text',
    other: 'text',
    body: 'json',
    at: 'timestamptz',
    amount: 'bigint',
  } as const
  const row = fc.record({
    said: fc.constantFrom(...LOOKALIKES),
    other: fc.option(
      fc.oneof(fc.constantFrom(...LOOKALIKES), fc.string({ unit: 'grapheme' }).map(withoutNull)),
    ),
    body: fc.option(fc.jsonValue().filter((value) => !JSON.stringify(value).includes('\\u0000'))),
    at: fc.constantFrom(
      new Date(0),
      new Date('1969-12-31T23:59:59.999Z'),
      new Date('2000-01-01T00:00:00.001Z'),
      new Date('2285-06-05T23:47:34.741Z'),
      new Date('9999-12-31T23:59:59.999Z'),
    ),
    amount: fc.option(fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 32, -(2 ** 32) - 1))),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const read = await inTransaction(db, async (trx) => {
        await sql`delete from public.kept`.execute(trx)
        await copyRows(trx, 'public.kept', columns, rows, (one, id) => ({
          ...one,
          id,
          body: one.body === null ? null : JSON.stringify(one.body),
        }))
        return readRows(
          trx,
          sql`select said, other, body, at, amount from public.kept order by id`,
          (kept) => ({
            said: kept.text(),
            other: kept.textOrNull(),
            body: kept.json(),
            at: kept.time(),
            amount: kept.bigintOrNull(),
          }),
        )
      })
      t.same(
        read,
        rows.map((one) => ({ ...one, body: asJson(one.body) })),
      )
    }),
  )
})

function withoutNull(text: string): string {
  return text.replaceAll('\0', '')
}

/** JSON has no -0. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

void t.test('many rows, long ones and none are read, in whatever pieces they come', async (t) => {
  const { db } = await testDatabase(t)
  const read = await readRows(
    db,
    sql`select n::bigint, repeat('añ€😀', (n * n % 30011)::integer) from generate_series(1, 300) n`,
    (row) => ({ id: row.bigint(), said: row.text(), bytes: row.bytes }),
  )
  t.same(
    read,
    Array.from({ length: 300 }, (_, at) => {
      const said = 'añ€😀'.repeat((at + 1) ** 2 % 30011)
      // The number of fields, and each with its length.
      return { id: at + 1, said, bytes: 2 + (4 + 8) + (4 + Buffer.byteLength(said)) }
    }),
  )
  t.same(await readRows(db, sql`select 'x' where false`, (row) => row.text()), [])
  const nothing = (): undefined => undefined
  t.same(await readRows(db, sql`select from generate_series(1, 3)`, nothing), [
    undefined,
    undefined,
    undefined,
  ])
})

void t.test('what is not as it is asked for is an error, and the connection is good', async (t) => {
  const { url } = await testDatabase(t)
  const db = connect(url, { name: 'one connection', max: 1 })
  t.teardown(() => db.destroy())
  const pid = async (): Promise<unknown> => (await sql`select pg_backend_pid()`.execute(db)).rows
  const before = await pid()
  const one = (query: string, toItem: Parameters<typeof readRows>[2]): Promise<unknown> =>
    readRows(db, sql.raw(query), toItem)
  await t.rejects(
    one(`select null::text`, (row) => row.text()),
    /^field 1 is null/,
  )
  await t.rejects(
    one(`select 1::bigint, null::bigint`, (row) => [row.bigint(), row.bigint()]),
    /^field 2 is null/,
  )
  await t.rejects(
    one(`select 1::integer`, (row) => row.bigint()),
    /^field 1 is no bigint: it has 4 bytes/,
  )
  await t.rejects(
    one(`select 9007199254740992::bigint`, (row) => row.bigint()),
    RangeError,
  )
  await t.rejects(
    one(`select 1::integer`, (row) => row.time()),
    /^field 1 is no time: it has 4 bytes/,
  )
  await t.rejects(
    one(`select null::timestamptz`, (row) => row.time()),
    /^field 1 is null/,
  )
  await t.rejects(
    one(`select 'infinity'::timestamptz`, (row) => row.time()),
    RangeError,
  )
  await t.rejects(
    one(`select 'a', 'b'`, (row) => row.text()),
    /more than 1 field/,
  )
  await t.rejects(
    one(`select 'a'`, (row) => [row.text(), row.text()]),
    /only 1 field/,
  )
  await t.rejects(
    one(`select nothing`, (row) => row.text()),
    { code: '42703' },
  )
  await t.rejects(
    one(`select (1 / (500 - n))::bigint from generate_series(1, 1000) n`, (row) => row.bigint()),
    { code: '22012' },
  )
  await t.rejects(
    readRows(db, sql`select ${1}::bigint`, (row) => row.bigint()),
    /parameters/,
  )
  t.same(await pid(), before)
})

void t.test('rows that cannot be taken are the error of their own question alone', async (t) => {
  const { db } = await testDatabase(t)
  const broken = new RangeError('no item of 300')
  const asked: number[] = []
  const numbers = (from: Db, refused?: number): Promise<number[]> =>
    readRows(from, sql`select n::bigint from generate_series(1, 1000) n`, (row) => {
      const number = row.bigint()
      if (refused !== undefined && number >= refused) {
        asked.push(number)
        throw broken
      }
      return number
    })
  const all = Array.from({ length: 1000 }, (_, at) => at + 1)
  const read = await inTransaction(db, async (trx) => {
    const failing = numbers(trx, 300)
    const [first, , last] = await overlapping([numbers(trx), t.rejects(failing, broken), numbers(trx)])
    return [first, last]
  })
  t.same(read, [all, all])
  t.same(asked, [300], 'those after it are passed over')
})

void t.test('a server that goes while rows are on their way is an error that may pass', async (t) => {
  const { url } = await testDatabase(t)
  const link = await untrustyLink(t, url)
  const db = connect(link.url, { name: 'reading', max: 1 })
  t.teardown(() => db.destroy())
  let seen = 0
  const reading = readRows(db, sql`select repeat('x', 100000) from generate_series(1, 10000) n`, (row) => {
    seen += 1
    if (seen === 3) void link.cut()
    return row.text().length
  })
  const refused = await reading.catch((error: unknown) => error)
  t.ok(isDatabaseRetryable(refused), String(refused))
  t.ok(seen >= 3 && seen < 10_000, `${seen} rows`)
})
