import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
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

void t.test('a holder that is frozen loses its lock, and learns it when it wakes up', async (t) => {
  const { url } = await testDatabase(t)
  const leaseMs = 800
  const holder = fork(
    fileURLToPath(new URL('../../../helpers/lock-holder-main.ts', import.meta.url)),
    [url, 'leader', String(leaseMs)],
    { execArgv: ['--import=tsx', '--no-warnings'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  )
  t.teardown(() => holder.kill('SIGKILL'))
  t.same(await once(holder, 'message'), ['holds', undefined])
  await sleep(3 * leaseMs)
  t.equal(await tryAdvisoryLock(url, 'leader'), undefined, 'it keeps it for as long as it lives')
  holder.kill('SIGSTOP')
  await sleep(2 * leaseMs)
  const next = await tryAdvisoryLock(url, 'leader')
  t.ok(next, 'somebody else leads')
  const told = once(holder, 'message')
  holder.kill('SIGCONT')
  t.same(await told, ['lost', undefined])
  await next?.release()
})
