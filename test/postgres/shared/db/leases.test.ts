import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { findHolder, takeLease, type Lease } from '../../../../shared/db/leases.ts'
import { untilAborted } from '../../../../shared/async/abort.ts'
import { testDatabase } from '../../../helpers/database.ts'
import { strangerOf } from '../../../helpers/stranger.ts'

const HOLDER = fileURLToPath(new URL('../../../helpers/lease-holder-main.ts', import.meta.url))

/** A process of its own that holds a lease. */
async function holderProcess(t: Test, url: string, name: string, leaseMs: number): Promise<ChildProcess> {
  const holder = fork(HOLDER, [url, name, String(leaseMs)], {
    execArgv: ['--import=tsx', '--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  t.same(await once(holder, 'message'), ['holds', undefined])
  return holder
}

/** Tries until it has the lease. */
async function untilTaken(url: string, name: string): Promise<Lease> {
  const since = performance.now()
  while (performance.now() - since < 60_000) {
    const lease = await takeLease(url, name)
    if (lease !== undefined) return lease
    await sleep(20)
  }
  throw new Error('the lease never was free')
}

void t.test('of twenty that try at once, one gets the lease, round after round', async (t) => {
  const { url, db } = await testDatabase(t)
  for (let round = 0; round < 5; round += 1) {
    const tries = await Promise.all(Array.from({ length: 20 }, () => takeLease(url, 'leader of evm:1')))
    const held = tries.filter((lease) => lease !== undefined)
    t.equal(held.length, 1)
    t.equal(await takeLease(url, 'leader of evm:1'), undefined, 'it stays taken')
    t.equal(await findHolder(db, 'leader of evm:1'), `${hostname()}, process ${process.pid}`)
    await held[0]?.release()
    t.equal(held[0]?.lost.aborted, true)
  }
  const one = await takeLease(url, 'leader of evm:1')
  const other = await takeLease(url, 'leader of evm:2')
  t.ok(one && other, 'another name is another lease')
  await Promise.all([one?.release(), other?.release()])
  t.equal(await findHolder(db, 'leader of evm:1'), undefined)
})

void t.test('a lease ends with its session, and its holder hears of it', { timeout: 20_000 }, async (t) => {
  const { url, db } = await testDatabase(t)
  // No renewal in this test's time: only the end of the session can say it.
  const lease = await takeLease(url, 'leader', { leaseMs: 3_600_000 })
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'loan-activity lease%'`.execute(db)
  if (lease !== undefined) await untilAborted(lease.lost)
  const next = await untilTaken(url, 'leader')
  await next.release()
})

void t.test(
  'a holder whose row another one has hears of it at its next renewal',
  { timeout: 25_000 },
  async (t) => {
    const { url, db } = await testDatabase(t)
    // Its next renewal comes after 6 s; without an answer it would give up after 30 s.
    const lease = await takeLease(url, 'leader', { leaseMs: 30_000 })
    await sql`update ledger.writer_leases set token = gen_random_uuid()`.execute(db)
    if (lease !== undefined) await untilAborted(lease.lost)
    t.equal(lease?.lost.aborted, true)
  },
)

void t.test('a killed holder is replaced at once', async (t) => {
  const { url } = await testDatabase(t)
  const holder = await holderProcess(t, url, 'leader', 600_000)
  holder.kill('SIGKILL')
  // Long before its lease of ten minutes ends.
  const next = await untilTaken(url, 'leader')
  await next.release()
})

void t.test(
  'a frozen holder is replaced when its lease expires, and learns it when it wakes up',
  async (t) => {
    const { url } = await testDatabase(t)
    const leaseMs = 800
    const holder = await holderProcess(t, url, 'leader', leaseMs)
    await sleep(3 * leaseMs)
    t.equal(await takeLease(url, 'leader'), undefined, 'it keeps it for as long as it renews it')
    holder.kill('SIGSTOP')
    const next = await untilTaken(url, 'leader')
    const told = once(holder, 'message')
    holder.kill('SIGCONT')
    t.same(await told, ['lost', undefined])
    t.equal(next.lost.aborted, false)
    await next.release()
  },
)

void t.test('a row that came with a failover names a session that is not on this server', async (t) => {
  const { url, db } = await testDatabase(t)
  const lease = await takeLease(url, 'leader')
  // The same process id on the new server belongs to another session, begun at another time.
  await sql`update ledger.writer_leases set backend_start = backend_start - interval '1 ms'`.execute(db)
  t.equal(await findHolder(db, 'leader'), undefined)
  const next = await takeLease(url, 'leader')
  t.ok(next, 'it is taken before it expires')
  await Promise.all([lease?.release(), next?.release()])
})

void t.test('a role that may only connect can neither take nor disturb a lease', async (t) => {
  const { url, db } = await testDatabase(t)
  const { stranger } = await strangerOf(t, { url, db })
  // Whatever key a lock of any name may have had: those of the service's names, and many others.
  await sql`select pg_advisory_lock(hashtextextended(key, 0)) from generate_series(1, 1000) as key`
    .execute(stranger)
    .catch(() => undefined)
  await sql`select pg_advisory_lock(('x' || left(encode(sha256(convert_to('loan-activity/' || name, 'UTF8')), 'hex'), 16))::bit(64)::bigint)
    from unnest(array['writer of evm:1', 'leader', 'operation replay']) as name`.execute(stranger)
  const lease = await takeLease(url, 'leader')
  t.ok(lease)
  const denied = { code: '42501' }
  for (const attempt of [
    sql`select * from ledger.writer_leases for update`,
    sql`delete from ledger.writer_leases`,
    sql`do $$ begin lock table ledger.writer_leases in access share mode; end $$`,
    sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename <> current_user`,
  ])
    await t.rejects(attempt.execute(stranger), denied)
  t.equal(lease?.lost.aborted, false)
  await lease?.release()
})
