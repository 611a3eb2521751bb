import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { inOneState, inTransaction, overlapping, type Trx } from '../../../../shared/db/transaction.ts'
import { connect, onOneConnection, type Db } from '../../../../shared/db/connect.ts'
import { WRITING } from '../../../../shared/db/session.ts'
import { copyRows } from '../../../../shared/db/copy-rows.ts'
import { testDatabase } from '../../../helpers/database.ts'
import { untrustyLink } from '../../../helpers/untrusty-link.ts'

void t.test('what overlaps comes to all its values, and is asked in the order of the asking', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.asked (id serial, part text)`.execute(db)
  const ask = (trx: Trx, part: string): Promise<unknown> =>
    sql`insert into public.asked (part) values (${part})`.execute(trx)
  const values = await inTransaction(db, (trx) =>
    overlapping([
      ask(trx, 'first').then(() => ask(trx, 'after the first')),
      ask(trx, 'second').then(() => 2),
      Promise.resolve('three'),
    ]),
  )
  t.same(values.slice(1), [2, 'three'])
  const { rows } = await sql<{ part: string }>`select part from public.asked order by id`.execute(db)
  t.same(
    rows.map(({ part }) => part),
    ['first', 'second', 'after the first'],
  )
})

void t.test('one part fails: its error is told, once the others have ended, and nothing stays', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.asked (id integer primary key)`.execute(db)
  const insert = (trx: Trx, id: number): Promise<unknown> =>
    sql`insert into public.asked values (${id})`.execute(trx)
  const ended: string[] = []
  const other = async (trx: Trx): Promise<void> => {
    await insert(trx, 1)
    // As long as rows take to be made: meanwhile the other part's statement is refused.
    await sleep(100)
    await t.rejects(insert(trx, 3), { code: '25P02' }, 'it is still of the transaction, which is aborted')
    ended.push('the other part')
    throw new Error('not the first to fail')
  }
  const failed = inTransaction(db, (trx) =>
    overlapping([other(trx), insert(trx, 2).then(() => insert(trx, 2))]),
  )
  await t.rejects(failed, { code: '23505' })
  t.same(ended, ['the other part'])
  const { rows } = await sql`select * from public.asked`.execute(db)
  t.same(rows, [])
})

void t.test(
  'parts of parts: what failed is told, not that the others were refused because of it',
  async (t) => {
    const { db } = await testDatabase(t)
    await sql`create table public.asked (id integer primary key)`.execute(db)
    const insert = (trx: Trx, id: number): Promise<unknown> =>
      sql`insert into public.asked values (${id})`.execute(trx)
    const failed = inTransaction(db, (trx) =>
      overlapping([
        // Has failed with its second statement, and is told only when its other part has ended.
        overlapping([insert(trx, 1).then(() => insert(trx, 1)), sleep(100)]),
        // Refused before that.
        insert(trx, 2).then(() => insert(trx, 3)),
      ]),
    )
    await t.rejects(failed, { code: '23505' })
    await t.rejects(
      inTransaction(db, (trx) =>
        overlapping([insert(trx, 1), insert(trx, 1)]).catch(() =>
          overlapping([insert(trx, 2), insert(trx, 3)]),
        ),
      ),
      { code: '25P02' },
      'where nothing else is known, that',
    )
  },
)

void t.test('what is asked side by side is at work before anything is answered', async (t) => {
  const { db, url } = await testDatabase(t)
  const link = await untrustyLink(t, url)
  const throughLink = connect(link.url, { name: 'side by side', max: 1 })
  t.teardown(() => throughLink.destroy())
  const locked = async (): Promise<number> => {
    const { rows } = await sql`select from pg_locks where locktype = 'advisory' and granted and database =
      (select oid from pg_database where datname = current_database())`.execute(db)
    return rows.length
  }
  await inTransaction(throughLink, async (trx) => {
    const letGo = link.holdAnswers()
    const asked = overlapping(
      [1, 2, 3].map((key) => sql`select pg_advisory_xact_lock(${key}::bigint)`.execute(trx)),
    )
    try {
      for (let looks = 0; (await locked()) < 3 && looks < 200; looks += 1) await sleep(20)
      t.equal(await locked(), 3)
    } finally {
      letGo()
      await asked
    }
  })
  t.equal(await locked(), 0, 'the transaction has ended')
})

void t.test(
  'a copy is refused among others: nothing stays, and its connection is as good as before',
  async (t) => {
    const { url } = await testDatabase(t)
    const db = connect(url, { name: 'one connection', max: 1 })
    t.teardown(() => db.destroy())
    await sql`create table public.asked (id integer primary key)`.execute(db)
    const copy = (trx: Trx, ...ids: number[]): Promise<void> =>
      copyRows(trx, 'public.asked', { id: 'integer' }, ids, (id) => ({ id }))
    const pid = async (): Promise<unknown> => (await sql`select pg_backend_pid()`.execute(db)).rows
    const before = await pid()
    const failed = inTransaction(db, (trx) =>
      overlapping([
        copy(trx, 1, 2),
        copy(trx, 3, 3),
        sql`insert into public.asked values (4)`.execute(trx),
        copy(trx, 5),
      ]),
    )
    await t.rejects(failed, { code: '23505' })
    await inTransaction(db, (trx) => overlapping([copy(trx, 6), sql`select 1`.execute(trx), copy(trx, 7)]))
    const { rows } = await sql`select id from public.asked order by id`.execute(db)
    t.same(rows, [{ id: 6 }, { id: 7 }])
    t.same(await pid(), before)
  },
)

void t.test('a failure that nobody minded is one all the same: Postgres commits nothing then', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.asked (id integer primary key)`.execute(db)
  const insert = (trx: Trx): Promise<unknown> => sql`insert into public.asked values (1)`.execute(trx)
  const passedOver = inTransaction(db, async (trx) => {
    await insert(trx)
    await insert(trx).catch(() => undefined)
  })
  await t.rejects(passedOver, /nothing was written/)
  t.same((await sql`select * from public.asked`.execute(db)).rows, [])
})

const loseIn: [of: string, lose: (db: Db, work: (trx: Trx) => Promise<unknown>) => Promise<unknown>][] = [
  ['a transaction', inTransaction],
  // Who does not mind has not made it whole.
  [
    'a transaction of whoever has taken it',
    (db, work) =>
      onOneConnection(db, (session) => inTransaction(session, work).catch((error: unknown) => error)),
  ],
]
for (const [of, lose] of loseIn) {
  void t.test(`a connection that was lost in ${of} is given to nobody`, async (t) => {
    const { db: other, url } = await testDatabase(t)
    const db = connect(url, { name: 'lost', max: 1 })
    t.teardown(() => db.destroy())
    const lost = lose(db, async (trx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other)
      await overlapping([sql`select 1`.execute(trx), sql`select 2`.execute(trx)])
    }).catch((error: unknown) => error)
    t.type(await lost, Error)
    t.same((await sql`select 3 as three`.execute(db)).rows, [{ three: 3 }])
  })
}

void t.test('transactions of a connection that was taken are on it, one after the other', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.asked (id integer primary key)`.execute(db)
  const pidOf = async (asked: Db): Promise<unknown> =>
    (await sql`select pg_backend_pid()`.execute(asked)).rows
  const insert = (trx: Trx, id: number): Promise<unknown> =>
    sql`insert into public.asked values (${id})`.execute(trx)
  await onOneConnection(db, async (session) => {
    const pid = await pidOf(session)
    await inTransaction(session, async (trx) => {
      t.same(await pidOf(trx), pid)
      await insert(trx, 1)
      t.same((await sql`select from public.asked`.execute(db)).rows, [], 'nobody else sees it yet')
    })
    await t.rejects(
      inTransaction(session, (trx) => overlapping([insert(trx, 2), insert(trx, 1)])),
      {
        code: '23505',
      },
    )
    t.same(await pidOf(session), pid, 'and it is as good as before')
    t.same((await sql`select id from public.asked`.execute(session)).rows, [{ id: 1 }])
  })
})

void t.test('there is no transaction within another, which it would end', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table public.asked (id integer primary key)`.execute(db)
  const outer = inTransaction(db, async (trx) => {
    await sql`insert into public.asked values (1)`.execute(trx)
    await inTransaction(trx, (inner) => sql`insert into public.asked values (2)`.execute(inner))
  })
  await t.rejects(outer, /this is none/)
  t.same((await sql`select id from public.asked`.execute(db)).rows, [])
})

void t.test('who asked in transactions only leaves no session behind', async (t) => {
  const { db: other, url } = await testDatabase(t)
  const db = connect(url, { name: 'transactions only', max: 2 })
  await inTransaction(db, (trx) => sql`select 1`.execute(trx))
  await db.destroy()
  const left = sql`select from pg_stat_activity where application_name = 'transactions only'`
  for (let looks = 0; (await left.execute(other)).rows.length > 0 && looks < 100; looks += 1) await sleep(20)
  t.same((await left.execute(other)).rows, [])
})

/** A pool whose sessions are ended, by the server, when they are silent within a transaction for so long. */
function withIdleLimit(t: Test, url: string, limitMs: number): Db {
  const settings = { ...WRITING.settings, idle_in_transaction_session_timeout: String(limitMs) }
  const db = connect(url, { name: 'limited', max: 1, session: { settings, writes: true } })
  t.teardown(() => db.destroy())
  return db
}

void t.test('one state is read however long nothing is asked of it', async (t) => {
  const { db: other, url } = await testDatabase(t)
  await sql`create table public.told (id integer)`.execute(other)
  await sql`insert into public.told values (1)`.execute(other)
  const db = withIdleLimit(t, url, 3_000)
  const read = async (trx: Trx): Promise<unknown> => (await sql`select id from public.told`.execute(trx)).rows
  await inOneState(db, async (trx) => {
    t.same(await read(trx), [{ id: 1 }])
    await sql`insert into public.told values (2)`.execute(other)
    await sleep(5_000)
    t.same(await read(trx), [{ id: 1 }])
  })
  t.equal((await sql`select from public.told`.execute(db)).rows.length, 2)
})

void t.test('who is frozen while it reads one state holds it no longer than others', async (t) => {
  const { url } = await testDatabase(t)
  const db = withIdleLimit(t, url, 1_500)
  const frozen = inOneState(db, async (trx) => {
    await sql`select 1`.execute(trx)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
    await sql`select 2`.execute(trx)
  })
  await t.rejects(frozen)
  t.same((await sql`select 3 as three`.execute(db)).rows, [{ three: 3 }], 'and leaves the pool usable')
})
