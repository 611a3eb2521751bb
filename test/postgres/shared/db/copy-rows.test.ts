import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { connect } from '../../../../shared/db/connect.ts'
import { copyRows, type CopiedValue } from '../../../../shared/db/copy-rows.ts'
import { inTransaction, isDatabaseRetryable, type Trx } from '../../../../shared/db/transaction.ts'
import { testDatabase } from '../../../helpers/database.ts'
import { untrustyLink } from '../../../helpers/untrusty-link.ts'

/** What a text column of Postgres can hold: anything but the character 0. */
const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''))

/** What a row of such a column can be. */
const time = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
const integer = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })

void t.test('what is copied is what is there, whatever it holds', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id integer, said text, body json, at timestamptz(3), amount bigint, number integer)`.execute(
    db,
  )
  const row = fc.record({
    said: fc.option(fc.oneof(text, fc.constantFrom('\\N', '\\.', '\t', '\r\n', '\\', ''))),
    body: fc.option(fc.dictionary(text, fc.oneof(text, fc.integer()))),
    at: fc.option(
      fc.oneof(time, fc.constantFrom(new Date('1999-12-31T23:59:59.999Z'), new Date('2000-01-01'))),
    ),
    amount: fc.option(
      fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 32, 2 ** 32 - 1, -(2 ** 32), 2 ** 31)),
    ),
    number: fc.option(fc.oneof(integer, fc.constantFrom(-(2 ** 31), 2 ** 31 - 1))),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const found = await inTransaction(db, async (trx) => {
        await sql`delete from public.copied`.execute(trx)
        await copyRows(
          trx,
          'public.copied',
          rows.map((one, id) => ({
            id,
            ...one,
            body: one.body === null ? null : JSON.stringify(one.body),
          })),
        )
        return sql`select said, body, at, amount, number from public.copied order by id`.execute(trx)
      })
      t.same(found.rows, JSON.parse(JSON.stringify(rows), revive))
    }),
  )
})

void t.test('what a column cannot have is refused', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id bigint, number integer, said text, at timestamptz)`.execute(db)
  const good = { id: 1, number: 2, said: 'x', at: new Date(3) }
  const copy = (row: Partial<Record<keyof typeof good, CopiedValue>>): Promise<void> =>
    inTransaction(db, (trx) => copyRows(trx, 'public.copied', [good, { ...good, ...row }]))
  for (const id of [2 ** 53, 0.5, NaN])
    await t.rejects(copy({ id }), { name: 'RangeError', message: `${id} ` })
  for (const number of [2 ** 31, -(2 ** 31) - 1]) await t.rejects(copy({ number }), { code: '22003' })
  await t.rejects(copy({ at: new Date(NaN) }), { name: 'RangeError' })
  await t.rejects(copy({ id: 'one' }), { code: '22P02' })
  await t.rejects(copy({ at: 1 }), { code: '22007' })
  t.same((await sql`select * from public.copied`.execute(db)).rows, [])
  await copy({ said: null })
  t.same((await sql`select * from public.copied`.execute(db)).rows, [good, { ...good, said: null }])
})

void t.test('rows that share their times, in turns, keep each its own', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id integer, made timestamptz(3), changed timestamptz(3))`.execute(db)
  const times = [new Date(1), new Date(2), new Date(2), new Date(3)] as const
  const rows = [0, 0, 1, 2, 1, 3, 0].map((time, id) => ({
    id,
    made: times[time] ?? null,
    changed: times[(time + 1) % 4] ?? null,
  }))
  await inTransaction(db, (trx) => copyRows(trx, 'public.copied', rows))
  t.strictSame((await sql`select id, made, changed from public.copied order by id`.execute(db)).rows, rows)
})

void t.test('many rows and long ones are all copied, in whatever parts they travel', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id integer, said text)`.execute(db)
  const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, said: 'añ€😀'.repeat(id % 1_000) }))
  // The last one fills a part.
  rows.push({ id: 5_000, said: 'x'.repeat(40_000) })
  await inTransaction(db, (trx) => copyRows(trx, 'public.copied', rows))
  t.same((await sql`select id, said from public.copied order by id`.execute(db)).rows, rows)
})

/** Dates come back as dates. */
function revive(name: string, value: unknown): unknown {
  return name === 'at' && typeof value === 'string' ? new Date(value) : value
}

void t.test(
  'what the database refuses is an error, nothing of it stays, and the connection is good',
  async (t) => {
    const { db } = await testDatabase(t)
    await sql`create table public.copied (id integer primary key)`.execute(db)
    const ids = (trx: Trx, ...given: number[]): Promise<void> =>
      copyRows(
        trx,
        'public.copied',
        given.map((id) => ({ id })),
      )
    await t.rejects(
      inTransaction(db, (trx) => ids(trx, 1, 2, 1)),
      { code: '23505' },
    )
    const refused = inTransaction(db, async (trx) => {
      await t.rejects(copyRows(trx, 'nowhere', [{ id: 1, said: 'x'.repeat(1_000_000) }]), {
        code: '42P01',
      })
      await sql`select 1`.execute(trx)
    })
    await t.rejects(refused, { code: '25P02' }, 'the transaction is void, and the connection answers')
    await inTransaction(db, (trx) => ids(trx, 3))
    await inTransaction(db, (trx) => copyRows(trx, 'public.copied', []))
    t.same((await sql`select id from public.copied`.execute(db)).rows, [{ id: 3 }])
  },
)

void t.test('a row that cannot be made is the error of the copy, and nothing of it stays', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id integer primary key, said text)`.execute(db)
  // Thousands of rows are on their way when the bad one is reached.
  const rows = Array.from({ length: 5_000 }, (_, id) => ({
    id: id === 4_000 ? 0.5 : id,
    said: 'x'.repeat(100),
  }))
  await t.rejects(
    inTransaction(db, (trx) => copyRows(trx, 'public.copied', rows)),
    { name: 'RangeError', message: /^0.5 / },
  )
  await inTransaction(db, (trx) => copyRows(trx, 'public.copied', [{ id: 3, said: 'z' }]))
  t.same(
    (await sql`select id from public.copied`.execute(db)).rows,
    [{ id: 3 }],
    'and the connection is good',
  )
})

void t.test('a server that goes while rows are on their way is an error that may pass', async (t) => {
  const { db, url } = await testDatabase(t)
  await sql`create table public.copied (id integer primary key, said text)`.execute(db)
  const link = await untrustyLink(t, url)
  const throughLink = connect(link.url, { name: 'copying', max: 1 })
  t.teardown(() => throughLink.destroy())
  const rows = Array.from({ length: 200 }, (_, id) => ({ id, said: 'x'.repeat(1_000_000) }))
  const error = await inTransaction(db, async (other) => {
    // A busy machine may take longer than a session is let be idle.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(other)
    // The first row waits for this one, so that most of the others are still here.
    await sql`insert into public.copied values (0, 'there before')`.execute(other)
    const copy = { isOver: false }
    const copying = inTransaction(throughLink, (trx) => copyRows(trx, 'public.copied', rows))
      .catch((refused: unknown) => refused)
      .finally(() => {
        copy.isOver = true
      })
    while (!copy.isOver && (await waitingForLocks()) === 0);
    await link.cut()
    await sql`delete from public.copied`.execute(other)
    return copying
  })
  t.ok(isDatabaseRetryable(error), String(error))
  t.same((await sql`select id from public.copied`.execute(db)).rows, [])

  async function waitingForLocks(): Promise<number> {
    const { rows: waiting } = await sql`select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`.execute(db)
    return waiting.length
  }
})

void t.test('a session that ends while rows are copied is an error that may pass', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.copied (id integer primary key)`.execute(db)
  // Keeps the copy waiting for the row that is there and not committed.
  const copying = inTransaction(db, async (other) => {
    await copyRows(other, 'public.copied', [{ id: 1 }])
    const waiting = inTransaction(db, (trx) => copyRows(trx, 'public.copied', [{ id: 1 }])).catch(
      (error: unknown) => error,
    )
    while ((await endOneThatWaits()) === 0);
    return { refused: await waiting }
  })
  t.ok(isDatabaseRetryable((await copying).refused))
  t.same((await sql`select id from public.copied`.execute(db)).rows, [{ id: 1 }])

  async function endOneThatWaits(): Promise<number> {
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`.execute(db)
    return rows.length
  }
})
