import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { tryAdvisoryLock } from '../../../../shared/db/locks.ts'
import { testDatabase } from '../../../helpers/database.ts'

void t.test('of twenty that try at once, one gets the lock', async (t) => {
  const { url } = await testDatabase(t)
  const tries = await Promise.all(Array.from({ length: 20 }, () => tryAdvisoryLock(url, 'leader of evm:1')))
  const held = tries.filter((lock) => lock !== undefined)
  t.equal(held.length, 1)
  t.equal(await tryAdvisoryLock(url, 'leader of evm:1'), undefined, 'it stays taken')
  const other = await tryAdvisoryLock(url, 'leader of evm:2')
  t.ok(other, 'another name is another lock')
  await held[0]?.release()
  await held[0]?.lost
  const next = await tryAdvisoryLock(url, 'leader of evm:1')
  t.ok(next, 'released, it can be taken again')
  await Promise.all([other?.release(), next?.release()])
})

void t.test('a holder whose connection dies is told, and the lock is free', async (t) => {
  const { url, db } = await testDatabase(t)
  const lock = await tryAdvisoryLock(url, 'leader')
  let lost = false
  const told = lock?.lost.then(() => (lost = true))
  await sleep(50)
  t.equal(lost, false)
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'loan-activity lock%'`.execute(db)
  await told
  t.equal(lost, true)
  const next = await tryAdvisoryLock(url, 'leader')
  t.ok(next)
  await next?.release()
})
