import { sql } from 'kysely'
import t from 'tap'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { buildApp } from '../../../api/app.ts'
import { checkConnections } from '../../../indexer/check-connections.ts'
import { openQueueBackend } from '../../../indexer/open-queue-backend.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { loadEnvironment } from '../../../shared/config/config.ts'
import { connect } from '../../../shared/db/connect.ts'
import { inspectDatabase, poolSize, requireOwnSessions } from '../../../shared/db/inspect.ts'
import { ConfigError } from '../../../shared/errors.ts'
import { createLogger } from '../../../shared/log.ts'
import { testApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { pgbouncer } from '../../helpers/pgbouncer.ts'
import { eventually } from '../../helpers/programs.ts'
import { seedLoan, seedRecords } from '../../helpers/seed-projection.ts'
import { tcpSwitch } from '../../helpers/tcp-switch.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

t.setTimeout(120_000)

const URLS = [
  '/api/activity/history',
  '/api/activity/history/2',
  '/api/activity?limit=30&loanId=7',
  '/api/loan/ERC20/1',
  '/api/loan/ERC20/404',
]

for (const [mode, size] of [
  ['transaction', 20],
  ['transaction', 1],
  ['session', 20],
] as const) {
  void t.test(`the API answers by a pooler: ${mode} mode, ${size} sessions`, async (t) => {
    const { app: direct, db, url } = await testApi(t, { asDocumented: false })
    await seedRecords(db, 60)
    await seedLoan(db, { loanType: 'ERC20FIL', loanId: '1', id: 1, part: { a: 1 } })
    const pooled = await pgbouncer(t, url, { mode, size })
    const { sharesSessions } = await inspectDatabase(pooled, 'READ_DATABASE_URL').catch((error: unknown) => {
      throw new Error('not inspected', { cause: error })
    })
    t.equal(sharesSessions, mode === 'transaction')
    // Another client of the same pool, with settings that are not ours.
    const other = openReadDatabase(pooled, { sharesSessions, onError: () => undefined })
    const database = openReadDatabase(pooled, { sharesSessions, onError: () => undefined })
    t.teardown(() => Promise.all([database.close(), other.close()]))
    const app = await buildApp({ database, log: createLogger('test', 'silent'), version: '0.0.0-test' })
    t.teardown(() => app.close())
    const ask = async (path: string): Promise<void> => {
      const [expected, answered] = [await direct.inject(path), await app.inject(path)]
      t.equal(answered.statusCode, expected.statusCode, path)
      t.equal(answered.body, expected.body, path)
    }
    for (let round = 0; round < 4; round += 1) await Promise.all(URLS.map(ask))
    for (const path of URLS) await ask(path)
  })
}

void t.test('a read is asked again when the session behind the pooler is lost', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedRecords(db, 3)
  const target = new URL(url)
  const way = await tcpSwitch(t, Number(target.port))
  for (const mode of ['session', 'transaction'] as const) {
    const pooled = await pgbouncer(t, Object.assign(new URL(url), { port: `${way.port}` }).href, { mode })
    const { app } = await testApi(t, { url: pooled, sharesSessions: mode === 'transaction' })
    t.equal((await app.inject('/api/activity/history')).statusCode, 200)
    const asked = await db.transaction().execute(async (trx) => {
      await sql`lock table projection.activity in access exclusive mode`.execute(trx)
      const answer = app.inject('/api/activity?limit=2')
      await eventually('the statement waits', async () => {
        const { rows } = await sql`
          select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
          db,
        )
        return rows.length > 0
      })
      way.reset()
      return { answer }
    })
    const { statusCode, body } = await asked.answer
    t.equal(statusCode, 200, `${mode}: ${body}`)
  }
})

void t.test('in transaction mode no setting stays behind in the shared session', async (t) => {
  const { url } = await testDatabase(t)
  const pooled = await pgbouncer(t, url, { mode: 'transaction', size: 1 })
  const database = openReadDatabase(pooled, { sharesSessions: true, onError: () => undefined })
  t.teardown(() => database.close())
  const text = 'select current_setting($1) as set, pg_backend_pid() as pid'
  t.match(await database.rows({ name: 'one', text }, ['enable_seqscan']), [{ set: 'off' }])
  t.match(await database.rows({ name: 'one', text }, ['TimeZone']), [{ set: 'UTC' }])
  t.match(await database.rows({ name: 'one', text }, ['transaction_read_only']), [{ set: 'on' }])
  await t.rejects(database.rows({ name: 'two', text: 'select 1 / 0' }), /division by zero/)
  t.match(await database.rows({ name: 'one', text }, ['jit']), [{ set: 'off' }])
  const bare = openReadDatabase(pooled, { sharesSessions: true, onError: () => undefined })
  const { rows } = await sql<{ set: string }>`select current_setting('enable_seqscan') as set`.execute(
    bare.db,
  )
  t.same(rows, [{ set: 'on' }])
  await bare.close()
})

void t.test('the indexer works by a pooler in session mode', async (t) => {
  const { url, db: direct } = await testDatabase(t)
  const pooled = await pgbouncer(t, url, { mode: 'session' })
  requireOwnSessions(await inspectDatabase(pooled, 'DATABASE_URL'))
  const db = connect(pooled, { name: 'pooled', max: 3 })
  await ingestStories(db, tellStories(3, 10))
  const digest = await digestReadModel(direct)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  t.same(await digestReadModel(db), digest)
  await db.destroy()

  const errors: string[] = []
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl: pooled }, ({ message }) =>
    errors.push(message),
  )
  const queue = backend.openQueue('pooled')
  const worker = { close: (): Promise<void> => Promise.resolve() }
  const taken = new Promise<unknown>((resolve) => {
    Object.assign(
      worker,
      backend.openWorker(
        'pooled',
        ({ data }) => {
          resolve(data)
          return Promise.resolve()
        },
        { mostCharacters: 1_000 },
      ),
    )
  })
  await queue.add('job', { it: 'works' }, {})
  t.same(await taken, { it: 'works' })
  await queue.close()
  await worker.close()
  t.same(errors, [])
})

void t.test('the indexer is refused in transaction mode, in one line that says what to use', async (t) => {
  const { url } = await testDatabase(t)
  const pooled = await pgbouncer(t, url, { mode: 'transaction' })
  const facts = await inspectDatabase(pooled, 'DATABASE_URL')
  t.throws(() => requireOwnSessions(facts), /^DATABASE_URL .*pool_mode = session/)
  const statement = await pgbouncer(t, url, { mode: 'statement' })
  await t.rejects(inspectDatabase(statement, 'READ_DATABASE_URL'), /^READ_DATABASE_URL .*pool_mode = session/)
  t.equal((await inspectDatabase(url, 'DATABASE_URL')).sharesSessions, false)
})

void t.test('the connections of a program fit the limits, or the message has the numbers', async (t) => {
  const { url, db } = await testDatabase(t)
  const role = `limited_${new URL(url).pathname.slice(1)}`
  await sql.raw(`create role ${role} login password 'password' connection limit 5`).execute(db)
  t.teardown(() => sql.raw(`drop role ${role}`).execute(db))
  const limited = new URL(url)
  limited.username = role
  const facts = await inspectDatabase(limited.href, 'DATABASE_URL')
  t.match(facts, { limit: 5, limitOf: `the role ${role}`, free: 5, sharesSessions: false })
  const networks = { evm: [{}], filecoin: [] } as never
  await t.rejects(
    checkConnections(limited.href, networks, loadEnvironment({}), ['writer']),
    new ConfigError(
      `DATABASE_URL: the role ${role} allows 5 connections, and this program needs at least 8 (it takes up to 13): raise the limit`,
    ),
  )
  t.match(
    await checkConnections(limited.href, networks, loadEnvironment({ REDIS_URL: 'redis://h' }), ['writer']),
    { pool: 3 },
    'with Redis it runs within five',
  )
  t.equal(poolSize(facts, { variable: 'DATABASE_URL', wanted: 10, least: 1, others: 0 }), 5)
  const unlimited = await inspectDatabase(url, 'DATABASE_URL')
  t.match(unlimited, { limit: 300, limitOf: 'the server' })
})
