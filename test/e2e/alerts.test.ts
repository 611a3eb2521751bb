import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import { startApi } from '../helpers/api-process.ts'
import { redisTenant } from '../helpers/co-tenant.ts'
import { testDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { startPrometheus } from '../helpers/prometheus.ts'
import { hasPrometheus } from '../helpers/promtool.ts'
import { startRedis } from '../simulation/redis-server.ts'

t.setTimeout(300_000)

void t.test('a running service that is unwell fires the alert of its cause, and no other', async (t) => {
  if (!hasPrometheus(t)) return
  const { url: databaseUrl, db } = await testDatabase(t)
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 451 })
  const network = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  const setup = { databaseUrl, redisUrl: redis.url, networks: { evm: [network] } }
  const indexer = await indexerProcess(t, setup)
  indexer.start()
  await player.playLoans(2)
  await untilSynced(db, anvil.url, indexer)
  const [apiPort, metricsPort] = [await freePort(), await freePort()]
  const environment = {
    ...{ DATABASE_URL: databaseUrl, REDIS_URL: redis.url },
    ...{ API_PORT: `${apiPort}`, API_METRICS_PORT: `${metricsPort}` },
  }
  let api = startApi(t, environment)
  await api.listening
  const prometheus = await startPrometheus(t, {
    'loan-activity': [new URL(indexer.url).host],
    'loan-activity-api': [`127.0.0.1:${metricsPort}`],
  })

  async function provoke(alert: string, begin: () => unknown, end: () => unknown): Promise<void> {
    t.same(await prometheus.until([]), [], `nothing fires before ${alert}`)
    await begin()
    t.same(await prometheus.until([alert]), [], `${alert} fires alone`)
    await end()
    t.same(
      (await prometheus.until([])).filter((name) => name !== alert),
      [],
      'and ends',
    )
  }

  await provoke(
    'LoanActivityQueueDown',
    () => redis.kill(),
    () => redis.start(),
  )
  await provoke(
    'LoanActivityNoApi',
    async () => {
      api.child.kill('SIGKILL')
      await api.ended
    },
    async () => {
      api = startApi(t, environment)
      await api.listening
    },
  )
  let unlock = (): void => undefined
  let locking: Promise<void> = Promise.resolve()
  await provoke(
    'LoanActivityStandsStill',
    async () => {
      const released = new Promise<void>((resolve) => (unlock = resolve))
      await new Promise<void>((locked) => {
        locking = db.transaction().execute(async (trx) => {
          await sql`select 1 from ledger.chain_position for update`.execute(trx)
          locked()
          await released
        })
      })
      await player.playLoans(2)
    },
    async () => {
      unlock()
      await locking
    },
  )
  const tenant = redisTenant(t, redis.url, stepQueueName('evm:31337'))
  await provoke(
    'LoanActivityForeignJobs',
    () => tenant.add({ forged: true }, { jobId: randomUUID() }),
    () => undefined,
  )
  await provoke(
    'LoanActivityNotFollowed',
    () => process.kill(anvil.pid, 'SIGSTOP'),
    () => process.kill(anvil.pid, 'SIGCONT'),
  )
  await provoke(
    'LoanActivityNoIndexer',
    () => indexer.kill(),
    () => indexer.start(),
  )
})
