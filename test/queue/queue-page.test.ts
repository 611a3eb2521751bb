import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { openQueuePage } from '../../indexer/open-queue-page.ts'
import { QUEUE_PAGE_PATH } from '../../indexer/queue-page/parts.ts'
import { MAX_ENVELOPE } from '../../indexer/queue/envelope.ts'
import { encodeStep } from '../../indexer/queue/join-steps.ts'
import { PAGE_CONNECTIONS } from '../../indexer/queue/page-queues.ts'
import { jobsOf } from '../../indexer/queue/step-jobs.ts'
import { addJob, openStepQueue } from '../../indexer/queue/step-queue.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { serveTelemetry } from '../../indexer/serve-telemetry.ts'
import { loadEnvironment } from '../../shared/config/config.ts'
import type { Db } from '../../shared/db/connect.ts'
import { createLogger } from '../../shared/log.ts'
import { createRegistry } from '../../shared/metrics.ts'
import { testDatabase } from '../helpers/database.ts'
import { jobKey } from '../helpers/job-key.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'
import { RandomChain } from '../helpers/random-chain.ts'
import { testRedis } from '../helpers/redis.ts'

const PASSWORD = 'a-long-password: of the page'
const NETWORKS = ['evm:1', 'filecoin:testnet']
const QUEUES = ['steps-evm-1', 'steps-filecoin-testnet', 'vouchers', 'webhook-billing']

type Test = Parameters<typeof testDatabase>[0]
type Ask = (path: string, init?: RequestInit) => Promise<Response>
interface Shown {
  queues: { name: string; readOnlyMode: boolean; isPaused: boolean; jobs: { id: string; data: unknown }[] }[]
}
interface Setup {
  db: Db
  databaseUrl: string
  redisUrl: string | undefined
  mode: string
}

function basic(credentials: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

/** Serves the page as an indexer does. */
async function serve(t: Test, { db, databaseUrl, redisUrl, mode }: Setup): Promise<Ask> {
  const environment = loadEnvironment({
    ...{ QUEUE_PAGE: mode, QUEUE_PAGE_PASSWORD: PASSWORD, REDIS_URL: redisUrl },
  })
  const parts = { databaseUrl, db, networks: NETWORKS, log: createLogger('test', 'silent') }
  const page = openQueuePage(environment, parts, (error) => t.comment(error.message))
  const server = await serveTelemetry(
    { host: '127.0.0.1', port: 0 },
    {
      ...{ metrics: createRegistry('test'), portVariable: 'INDEXER_PORT' },
      readiness: () => ({ isReady: true, payload: null }),
      page: page && { path: QUEUE_PAGE_PATH, handle: page.handle },
    },
  )
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await page?.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return (path, init = {}) => fetch(url + path, { headers: basic(`me:${PASSWORD}`), ...init })
}

async function queuesOf(ask: Ask, active = 'vouchers'): Promise<Shown['queues']> {
  const answer = await ask(`/queues/api/queues?activeQueue=${active}&jobsPerPage=9999`)
  return ((await answer.json()) as Shown).queues
}

for (const kind of queueKinds) {
  void t.test(`on ${kind}`, async (t) => {
    const { url: databaseUrl, db } = await testDatabase(t)
    const redisUrl = (kind === 'redis' ? await testRedis(t) : undefined) ?? undefined
    if (kind === 'redis' && redisUrl === undefined) return
    await sql`insert into ledger.webhook_cursors (name, position, skip) values ('billing', 0, 0)`.execute(db)
    const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
    const vouchers = openVoucherQueue(backend)
    const steps = openStepQueue(backend, 'evm:1')
    t.teardown(async () => {
      await Promise.all([vouchers.close(), steps.close()])
      backend.close()
    })
    const setup = { db, databaseUrl, redisUrl }
    await addVoucher(vouchers, { voucher: 'one' }, 'one')
    await addVoucher(vouchers, { voucher: 'two' }, 'two')

    await t.test('it is off by default', async (t) => {
      t.equal(loadEnvironment({}).QUEUE_PAGE, 'off')
      const ask = await serve(t, { ...setup, mode: '' })
      for (const path of ['/queues', '/queues/', '/queues/api/queues']) t.equal((await ask(path)).status, 404)
    })

    await t.test('without the password nothing is shown', async (t) => {
      const ask = await serve(t, { ...setup, mode: 'read' })
      for (const path of ['/queues', '/queues/', '/queues/api/queues', '/queues/static/favicon.ico']) {
        for (const headers of [{}, basic('me:wrong'), basic(PASSWORD.replace(':', '')), basic('me:')]) {
          const answer = await ask(path, { headers })
          t.equal(answer.status, 401, path)
          t.match(answer.headers.get('www-authenticate'), /^Basic /)
        }
      }
      const { rows } = await sql`select 1 from pg_stat_activity where application_name like '%queue page'
        and datname = current_database()`.execute(db)
      t.same(rows, [], 'and no connection is opened')
      const page = await ask('/queues/')
      t.equal(page.status, 200, 'with it there is the page')
      const text = await page.text()
      t.match(text, 'Loan activity')
      t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
      const [, script = ''] = /src="(static\/js\/main[^"]+)"/.exec(text) ?? []
      t.equal((await ask(`/queues/${script}`)).status, 200, script)
      t.equal((await ask('/queuesx')).status, 404)
    })

    await t.test('all queues are shown, and a deflated step as its JSON', async (t) => {
      const step = new RandomChain(1).grow(300)
      const [job] = await jobsOf({ readerEpoch: 1, sequence: 1 }, encodeStep(step))
      t.ok(job?.payload, 'it was deflated')
      if (job !== undefined) await addJob(steps, jobKey('evm:1'), job)
      const ask = await serve(t, { ...setup, mode: 'read' })
      const queues = await queuesOf(ask, 'steps-evm-1')
      t.same(queues.map(({ name }) => name).sort(), QUEUES)
      const [shown] = queues.find(({ name }) => name === 'steps-evm-1')?.jobs ?? []
      t.match(shown?.data, {
        network: 'evm:1',
        summary: { type: 'blocks' },
        step: { type: 'blocks', from: 1 },
      })
      const { headers } = (shown?.data as { step: { headers: unknown[] } }).step
      t.match([headers[0], headers.at(-1)], [{ number: 1 }, '… and 280 more'], 'long lists are cut')
      const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
        where application_name like '%queue page' and datname = current_database()`.execute(db)
      const count = rows[0]?.count ?? 0
      t.ok(kind === 'redis' ? count === 0 : count > 0 && count <= PAGE_CONNECTIONS, `${count} connections`)
    })

    await t.test('it changes nothing unless it may write', async (t) => {
      const ask = await serve(t, { ...setup, mode: 'read' })
      for (const [method, path] of [
        ['PUT', '/queues/api/queues/vouchers/pause'],
        ['PUT', '/queues/api/queues/pause'],
        ['PUT', '/queues/api/queues/vouchers/voucher-one/clean'],
        ['POST', '/queues/api/queues/vouchers/add'],
      ] as const)
        t.equal((await ask(path, { method })).status, 405, path)
      const [, , queue] = await queuesOf(ask)
      t.match(queue, { name: 'vouchers', readOnlyMode: true, isPaused: false })
      t.equal(queue?.jobs.length, 2)
    })

    await t.test('it changes what it may, but not for the page of another site', async (t) => {
      const ask = await serve(t, { ...setup, mode: 'write' })
      const path = '/queues/api/queues/vouchers/voucher-one/clean'
      const headers = { ...basic(`me:${PASSWORD}`), 'sec-fetch-site': 'cross-site' }
      t.equal((await ask(path, { method: 'PUT', headers })).status, 403)
      t.equal((await queuesOf(ask))[2]?.jobs.length, 2)
      t.equal((await ask(path, { method: 'PUT' })).status, 204)
      t.same(
        (await queuesOf(ask))[2]?.jobs.map(({ id }) => id),
        ['voucher-two'],
      )
    })

    await t.test('a server that is away is said, and tried again', async (t) => {
      const ask = await serve(t, {
        ...setup,
        redisUrl: undefined,
        databaseUrl: 'postgres://127.0.0.1:1/x',
        mode: 'read',
      })
      for (const attempt of [1, 2]) {
        const answer = await ask('/queues/')
        t.equal(answer.status, 503, `attempt ${attempt}`)
        t.match(await answer.json(), { message: /away/ })
      }
    })

    if (redisUrl !== undefined) {
      await t.test('what a stranger wrote into Redis is bounded', async (t) => {
        const redis = new Redis(redisUrl)
        t.teardown(() => redis.disconnect())
        const key = 'loan-activity:vouchers:voucher-two'
        await redis.hset(
          key,
          'data',
          `["${'x'.repeat(4 * MAX_ENVELOPE)}"]`,
          'stacktrace',
          'x'.repeat(1_000_000),
        )
        const ask = await serve(t, { ...setup, mode: 'read' })
        const [, , queue] = await queuesOf(ask)
        t.match(queue?.jobs, [{ id: 'voucher-two', data: { reason: /at most \d+ are read/ } }])
        await redis.hset(key, 'data', 'no JSON')
        t.match((await queuesOf(ask))[2]?.jobs, [{ data: { reason: 'it is not JSON' } }])
      })
    }
  })
}
