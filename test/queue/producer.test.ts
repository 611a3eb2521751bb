import { createPostgresBackend, withBackend } from 'bullmq'
import { sql } from 'kysely'
import t from 'tap'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { roleOfQueue } from '../helpers/co-tenant.ts'
import { testDatabase } from '../helpers/database.ts'
import { runOps } from '../helpers/run-ops.ts'

t.setTimeout(120_000)

void t.test('a producer without DDL rights adds vouchers before any indexer ran', async (t) => {
  const { url, db } = await testDatabase(t, { migrated: false })
  const migrated = await Promise.all(
    [1, 2].map(() => runOps(t, { databaseUrl: url, networks: {} }, 'migrate', '--json')),
  )
  for (const { code, err } of migrated) t.equal(code, 0, err)
  const databaseUrl = await roleOfQueue(t, db, url)
  const queue = new (withBackend(createPostgresBackend).Queue)('vouchers', {
    connection: { connectionString: databaseUrl, schema: 'queue', max: 1 },
  })
  t.teardown(() => queue.close())
  await queue.add('voucher', { voucher: 'first' })
  await queue.add('voucher', { voucher: 'second' })
  t.same(
    await queue.getJobCounts('waiting', 'delayed'),
    { waiting: 2, delayed: 0 },
    'and the queue began empty',
  )
  const checks = sql`select 1 from pg_constraint where conname = 'bounded_job'`
  t.equal((await checks.execute(db)).rows.length, 1)
  // When several migrate at once, one adds the check and none fails.
  await sql`alter table queue.job drop constraint bounded_job`.execute(db)
  await Promise.all(Array.from({ length: 8 }, () => prepareQueue(db, url)))
  t.equal((await checks.execute(db)).rows.length, 1)
})
