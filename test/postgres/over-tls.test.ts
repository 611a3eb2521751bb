import { sql } from 'kysely'
import t from 'tap'
import { buildApp } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import type { JobWorker } from '../../indexer/queue/backend.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import { connect, connectSession, type Db } from '../../shared/db/connect.ts'
import { copyRows } from '../../shared/db/copy-rows.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import { createLogger } from '../../shared/log.ts'
import { ingestStories } from '../helpers/ingest-ledger.ts'
import { runOps } from '../helpers/run-ops.ts'
import { tlsPostgres } from '../helpers/tls-postgres.ts'
import { tellStories } from '../helpers/two-chain-stories.ts'

/** More than any buffer on the way. */
const MANY = 3_000
const LONG = 'é'.repeat(100_000)

void t.test('over TLS', async (t) => {
  const { url: bare, certificate } = await tlsPostgres(t)
  const url = `${bare}?sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate)}`
  const db = connect(url, { name: 'test over TLS' })
  t.teardown(() => db.destroy())

  await t.test('nobody comes but by it, and to no server that is not known', async (t) => {
    t.equal(await isEncrypted(db), true)
    for (const [how, why] of [
      ['', /no encryption/],
      ['?sslmode=verify-full', /self-signed certificate/],
    ] as const) {
      const other = connect(`${bare}${how}`, { name: 'test over TLS' })
      await t.rejects(isEncrypted(other), why)
      await other.destroy()
    }
    const session = await connectSession(url, 'test over TLS')
    t.match(await session.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()'), {
      rows: [{ ssl: true }],
    })
    await session.end()
  })

  await t.test('who comes otherwise is told how to come', async (t) => {
    const known = `add \\?sslmode=verify-full&sslrootcert=FILE, a file with the certificate`
    for (const [how, told] of [
      ['', new RegExp(`^ops: DATABASE_URL: .* no encryption: ${known}`)],
      [
        '?sslmode=verify-full',
        new RegExp(`^ops: DATABASE_URL: .* not trusted: self-signed certificate: ${known}`),
      ],
    ] as const) {
      const { code, err } = await runOps(t, { databaseUrl: `${bare}${how}`, networks: {} }, 'digest')
      t.match(err, told)
      t.equal(code, 1)
    }
  })

  await t.test('rows are copied and read, many and long ones', async (t) => {
    await sql`create table public.copied (id bigint, said text)`.execute(db)
    const rows = Array.from({ length: MANY }, (_, id) => ({ id, said: id === 7 ? LONG : `row ${id}` }))
    await inTransaction(db, (trx) => copyRows(trx, 'public.copied', rows))
    const read = await sql`select id, said from public.copied order by id`.execute(db)
    t.strictSame(read.rows, rows)
  })

  await t.test('the read model is written, built again and asked for', async (t) => {
    await migrate(db)
    await prepareQueue(db, url)
    await ingestStories(db, tellStories(3, 4))
    const digest = await digestReadModel(db)
    t.ok(digest.records > 0)
    t.ok(
      await replay(db, { restart: false, signal: new AbortController().signal, onProgress: () => undefined }),
    )
    t.same(await digestReadModel(db), digest)
    const database = openReadDatabase(url, { onError: () => undefined })
    const app = await buildApp({ database, log: createLogger('test', 'silent'), version: 'test' })
    const answer = await app.inject('/api/activity/history/1')
    t.equal(answer.statusCode, 200)
    t.equal(answer.json<{ payload: unknown[] }>().payload.length, Math.min(25, digest.records))
    await app.close()
    await database.close()
  })

  await t.test('jobs are put and taken', async (t) => {
    let isOver = false
    const backend = openQueueBackend({ redisUrl: undefined, databaseUrl: url }, (error) => {
      // A connection that is still closing hears the server stop.
      if (!isOver) t.error(error)
    })
    let worker: JobWorker | undefined
    const took = new Promise<unknown>((resolve) => {
      worker = backend.openWorker(
        'over-tls',
        ({ data }) => {
          resolve(data)
          return Promise.resolve()
        },
        { mostCharacters: 1_000_000 },
      )
    })
    const queue = backend.openQueue('over-tls')
    await queue.add('job', { said: LONG }, {})
    t.same(await took, { said: LONG })
    await worker?.close()
    await queue.close()
    backend.close()
    isOver = true
  })
})

async function isEncrypted(db: Db): Promise<boolean | undefined> {
  const { rows } = await sql<{
    ssl: boolean
  }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(db)
  return rows[0]?.ssl
}
