import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { redisTenant } from '../helpers/co-tenant.ts'
import { testDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { healthAnswers, type HealthAnswers } from '../helpers/health-answers.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { leaveTheClock, playedChain } from '../helpers/played-chain.ts'
import { eventually } from '../helpers/programs.ts'
import { startPrometheus } from '../helpers/prometheus.ts'
import { hasPrometheus } from '../helpers/promtool.ts'
import { provoker, untilAnswers } from '../helpers/provoke-alerts.ts'
import { tcpSwitch, type TcpSwitch } from '../helpers/tcp-switch.ts'
import { startRedis } from '../simulation/redis-server.ts'

t.setTimeout(600_000)

const portOf = (url: string): number => Number(new URL(url).port)

void t.test('a running service that is unwell fires the alert of its cause, and no other', async (t) => {
  if (!hasPrometheus(t)) return
  const { url: databaseUrl, db } = await testDatabase(t)
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const { anvil, player, network } = await playedChain(t, 451)
  await leaveTheClock(anvil)
  const setup = { databaseUrl, redisUrl: redis.url, networks: { evm: [network] } }
  const [indexer, writer, reader] = [
    await indexerProcess(t, setup),
    await indexerProcess(t, { ...setup, role: 'writer' }),
    await indexerProcess(t, { ...setup, role: 'reader' }),
  ]
  indexer.start()
  await player.playLoans(2)
  await untilSynced(db, anvil.url, indexer)
  const isThere = (process: IndexerProcess): Promise<void> =>
    eventually('it answers', async () => {
      const answer = await fetch(`${process.url}/healthz`).catch(() => undefined)
      return answer?.status === 200
    })
  writer.start()
  await isThere(writer)

  const redisOfApi = await tcpSwitch(t, portOf(redis.url))
  const environment = async (): Promise<Record<string, string>> => ({
    ...{ DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${redisOfApi.port}` },
    ...{ API_PORT: `${await freePort()}`, API_METRICS_PORT: `${await freePort()}` },
  })
  const environments = [await environment(), await environment()]
  const apis: ApiProcess[] = []
  const startApiAt = async (place: number): Promise<void> => {
    const api = startApi(t, environments[place] ?? {})
    apis[place] = api
    await api.listening
  }
  const killApiAt = async (place: number): Promise<void> => {
    apis[place]?.child.kill('SIGKILL')
    await apis[place]?.ended
  }
  await startApiAt(0)
  await startApiAt(1)

  // Programs are exchanged behind these addresses, so that no scrape fails meanwhile.
  const places = [await tcpSwitch(t, portOf(indexer.url)), await tcpSwitch(t, portOf(writer.url))] as const
  const leadTo = async (place: TcpSwitch, process: IndexerProcess): Promise<void> => {
    await isThere(process)
    place.leadTo(portOf(process.url))
    place.reset()
  }
  const prometheus = await startPrometheus(t, {
    'loan-activity': places.map(({ port }) => `127.0.0.1:${port}`),
    'loan-activity-api': environments.map(({ API_METRICS_PORT: port = '' }) => `127.0.0.1:${port}`),
  })
  const api = `http://127.0.0.1:${environments[0]?.['API_PORT'] ?? ''}`
  const answersOf =
    (process: IndexerProcess): (() => Promise<HealthAnswers>) =>
    () =>
      healthAnswers(api, process.url)
  const provoke = provoker(t, prometheus, answersOf(indexer))
  await untilAnswers(t, answersOf(indexer), 'all is well')
  await untilAnswers(t, answersOf(writer), 'all is well; the indexer stands by as a writer')

  await provoke({
    ...{
      alert: 'LoanActivityQueueDown',
      state: 'Redis is away, which has the queue',
    },
    begin: () => redis.kill(),
    end: () => redis.start(),
  })
  await provoke({
    ...{ alert: 'LoanActivityRedisDown', state: 'Redis is away for the API alone' },
    begin: async () => {
      redisOfApi.leadTo(await freePort())
      redisOfApi.reset()
    },
    end: () => redisOfApi.leadTo(portOf(redis.url)),
  })
  await provoke({
    alert: 'LoanActivityApiDown',
    begin: () => killApiAt(1),
    end: () => startApiAt(1),
  })
  await provoke({
    ...{ alert: 'LoanActivityNoApi', state: 'the API is gone' },
    begin: () => Promise.all([killApiAt(0), killApiAt(1)]),
    end: () => Promise.all([startApiAt(0), startApiAt(1)]),
  })
  let unlock = (): void => undefined
  let locking: Promise<void> = Promise.resolve()
  await provoke({
    ...{ alert: 'LoanActivityStandsStill', state: 'blocks are there, and a lock holds up the writer' },
    begin: async () => {
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
    end: async () => {
      unlock()
      await locking
    },
  })
  const tenant = redisTenant(t, redis.url, stepQueueName('evm:31337'))
  await provoke({
    ...{ alert: 'LoanActivityForeignJobs', state: 'strangers write to the queue' },
    begin: () => tenant.add({ forged: true }, { jobId: randomUUID() }),
    end: () => undefined,
  })
  let rival: NodeJS.Timeout | undefined
  await provoke({
    alert: 'LoanActivityRestarts',
    // As a second reader does that the lease does not keep away.
    begin: () => {
      rival = setInterval(
        () => void sql`update ledger.chain_position set reader_epoch = reader_epoch + 1`.execute(db),
        400,
      )
    },
    end: () => clearInterval(rival),
  })
  await provoke({
    ...{ alert: 'LoanActivityNotFollowed', state: 'the node is away' },
    begin: () => process.kill(anvil.pid, 'SIGSTOP'),
    end: () => process.kill(anvil.pid, 'SIGCONT'),
  })
  await provoke({
    alert: 'LoanActivityIndexerDown',
    begin: () => writer.kill(),
    end: async () => {
      writer.start()
      await isThere(writer)
    },
  })
  await provoke({
    alert: 'LoanActivityNoReader',
    begin: async () => {
      await leadTo(places[0], writer)
      await indexer.kill()
      await untilAnswers(t, answersOf(writer), 'no process reads')
    },
    end: async () => {
      indexer.start()
      await leadTo(places[0], indexer)
    },
  })
  await provoke({
    alert: 'LoanActivityNoWriter',
    begin: async () => {
      reader.start()
      await leadTo(places[0], reader)
      await leadTo(places[1], reader)
      await Promise.all([indexer.kill(), writer.kill()])
      await untilAnswers(t, answersOf(reader), 'no process writes')
    },
    end: async () => {
      indexer.start()
      await leadTo(places[0], indexer)
      writer.start()
      await leadTo(places[1], writer)
      await reader.kill()
    },
  })
  await provoke({
    ...{ alert: 'LoanActivityNoIndexer', state: 'all indexers are gone' },
    begin: () => Promise.all([indexer.kill(), writer.kill()]),
    end: () => {
      indexer.start()
      writer.start()
    },
  })
})
