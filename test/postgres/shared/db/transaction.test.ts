import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { inOneState, inTransaction, type Trx } from '../../../../shared/db/transaction.ts'
import { connect, type Db } from '../../../../shared/db/connect.ts'
import { WRITING } from '../../../../shared/db/session.ts'
import { copyRows } from '../../../../shared/db/copy-rows.ts'
import { testDatabase } from '../../../helpers/database.ts'

void t.test('a copy that is refused leaves nothing, and its connection is as good as before', async (t) => {
  const { url } = await testDatabase(t)
  const db = connect(url, { name: 'one connection', max: 1 })
  t.teardown(() => db.destroy())
  await sql`create table public.asked (id integer primary key)`.execute(db)
  const copy = (trx: Trx, ...ids: number[]): Promise<void> =>
    copyRows(
      trx,
      'public.asked',
      ids.map((id) => ({ id })),
    )
  const pid = async (): Promise<unknown> => (await sql`select pg_backend_pid()`.execute(db)).rows
  const before = await pid()
  const failed = inTransaction(db, async (trx) => {
    await copy(trx, 1, 2)
    await copy(trx, 3, 3)
  })
  await t.rejects(failed, { code: '23505' })
  await inTransaction(db, async (trx) => {
    await copy(trx, 6)
    await copy(trx, 7)
  })
  const { rows } = await sql`select id from public.asked order by id`.execute(db)
  t.same(rows, [{ id: 6 }, { id: 7 }])
  t.same(await pid(), before)
})

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

void t.test('a connection that was lost in a transaction is given to nobody', async (t) => {
  const { db: other, url } = await testDatabase(t)
  const db = connect(url, { name: 'lost', max: 1 })
  t.teardown(() => db.destroy())
  const lost = inTransaction(db, async (trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other)
    await sql`select 1`.execute(trx)
  }).catch((error: unknown) => error)
  t.type(await lost, Error)
  t.same((await sql`select 3 as three`.execute(db)).rows, [{ three: 3 }])
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
