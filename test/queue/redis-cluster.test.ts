import { once } from 'node:events'
import { Redis } from 'ioredis'
import t from 'tap'
import { RateWindows } from '../../api/plugins/rate-windows.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { checkRedis } from '../../indexer/queue/check-redis.ts'
import { pageQueuesOnRedis } from '../../indexer/queue/page-queues.ts'
import { patientRedis } from '../../indexer/queue/redis-connections.ts'
import { createLogger } from '../../shared/log.ts'
import { eventually } from '../helpers/programs.ts'
import { countTogether } from '../helpers/rate-counts.ts'
import { testRedis } from '../helpers/redis.ts'
import { inStep } from '../helpers/redis-group.ts'
import { startRedisCluster, type ClusterGroup } from '../helpers/redis-cluster.ts'

t.setTimeout(300_000)

/** Masters killed, one after another. */
const KILLS = 3
/** Jobs that are added while the master is away. */
const JOBS = 20

void t.test('a queue on a Cluster', async (t) => {
  if ((await testRedis(t)) === null) return
  const group = await startRedisCluster()
  t.teardown(() => group.stop())
  const backend = openQueueBackend({ redisUrl: group.url, databaseUrl: '' }, () => undefined)
  t.teardown(() => backend.close())
  const answers = (): Promise<boolean> =>
    backend.ask().then(
      () => true,
      () => false,
    )
  t.same(await backend.check(), [])
  await backend.ask()

  const taken = new Set<unknown>()
  const told = new Set<string>()
  const take = ({ data }: { data: unknown }): Promise<void> => Promise.resolve(void taken.add(data))
  const worker = backend.openWorker('jobs', take, { mostCharacters: 1_000, lockDuration: 2_000 })
  const events = backend.openEvents('jobs', {
    onCompleted: (id) => told.add(id),
    onFailed: () => undefined,
  })
  const [queue, other] = [backend.openQueue('jobs'), backend.openQueue('other')]
  const add = async (about: string): Promise<void> => {
    const names = Array.from({ length: JOBS }, (_, number) => `${about}-${number}`)
    await Promise.all(names.map((name) => queue.add('job', name, { jobId: name })))
    await eventually(
      () => `${names.filter((name) => !taken.has(name)).join(' ')} not taken`,
      () => names.every((name) => taken.has(name)),
    )
  }
  const addTold = async (name: string): Promise<void> => {
    await queue.add('job', name, { jobId: name })
    await eventually(`${name} is told`, () => told.has(name))
  }
  await other.add('job', 'kept', { jobId: 'kept' })
  await inStep(group.masterOf('{loan-activity:other}').port)
  await add('first')
  await addTold('told')

  await t.test('each queue has one node, and the page shows it', async (t) => {
    const page = pageQueuesOnRedis(group.url, () => undefined)
    t.teardown(() => page.close())
    t.equal(await page.open('other').count(), 1)
    t.equal(await page.open('jobs').count(), 0)
    const { port } = group.masterOf('{loan-activity:other}')
    const redis = new Redis(port)
    t.teardown(() => redis.disconnect())
    t.equal(await redis.exists('{loan-activity:other}:other:kept'), 1)
  })

  for (let kill = 1; kill <= KILLS; kill += 1)
    await t.test(`jobs outlive the master, ${kill}`, async (t) => {
      const killed = group.masterOf('{loan-activity:jobs}')
      await killed.process.kill()
      await add(`after-kill-${kill}`)
      t.not(group.masterOf('{loan-activity:jobs}').port, killed.port, 'another is the master')
      await eventually('it takes writes', answers)
      killed.process.start()
      await group.isWhole()
      // The listener begins anew where a connection was lost.
      await addTold(`told-${kill}`)
    })

  await t.test('jobs outlive all nodes that the URL names', async () => {
    const named = group.nodes.slice(0, 3)
    for (const node of named) {
      await node.process.kill()
      await eventually('the others go on', () => group.isWithout(node))
    }
    await add('without-them')
    await eventually('it takes writes', answers)
    for (const node of named) node.process.start()
    await group.isWhole()
  })

  await t.test('a queue moves to another node', async (t) => {
    const before = group.masterOf('{loan-activity:jobs}')
    const adding = add('while-moving')
    group.moveSlotOf('{loan-activity:jobs}')
    await adding
    await add('moved')
    t.not(group.masterOf('{loan-activity:jobs}').port, before.port)
    await eventually('it takes writes', answers)
    t.equal(await other.getJobState('kept'), 'waiting')
  })

  await t.test('APIs count together, also after a failover without a crash', (t) =>
    countOverFailover(t, group),
  )

  await t.test('a start looks at each master', async (t) => {
    const { port } = group.masterOf('{loan-activity:jobs}')
    const redis = new Redis(port)
    t.teardown(() => redis.disconnect())
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    t.same(await backend.check(), [
      `Redis at 127.0.0.1:${port} has the maxmemory-policy "allkeys-lru": set "noeviction", any other may drop jobs`,
    ])
    await t.rejects(
      checkRedis(`redis://127.0.0.1:${port}`),
      /is a node of a Redis Cluster: write redis\+cluster:/,
    )
  })

  await t.test('all close', async () => {
    await Promise.all([worker.close(), events.close(), queue.close(), other.close()])
  })
})

async function countOverFailover(t: Parameters<typeof testRedis>[0], group: ClusterGroup): Promise<void> {
  const open = (): RateWindows => new RateWindows(group.url, createLogger('test', 'silent'))
  const [one, two] = [open(), open()]
  t.teardown(() => [one, two].forEach((windows) => windows.close()))
  await countTogether(one, two)
  const former = group.masterOf('{loan-activity:rate}')
  await failOver(group, former.port)
  await countTogether(one, two)
}

/** Makes a replica the master while both run. */
async function failOver(group: ClusterGroup, master: number): Promise<void> {
  const redis = new Redis(master)
  const replicas = /slave0:ip=[^,]+,port=(\d+)/.exec(await redis.info('replication'))
  redis.disconnect()
  const replica = new Redis(Number(replicas?.[1]))
  await replica.cluster('FAILOVER')
  await eventually('it is the master', async () =>
    (await replica.info('replication')).includes('role:master'),
  )
  replica.disconnect()
}

void t.test('a connection to a Cluster that never was there ends', async (t) => {
  const connection = patientRedis('redis+cluster://127.0.0.1:1', 'any')
  const [error] = (await once(connection, 'error')) as [Error]
  t.match(error.message, /ECONNREFUSED/)
  connection.on('error', () => undefined)
  const ended = once(connection, 'end')
  connection.disconnect()
  await ended
  t.equal(connection.status, 'end')
})

void t.test('servers that are no Cluster', async (t) => {
  const url = await testRedis(t)
  if (url === null) return
  const { host } = new URL(url)
  await t.rejects(
    checkRedis(`redis+cluster://${host}`),
    /^REDIS_URL: 127\.0\.0\.1:\d+ cannot be used: .*cluster support disabled/,
  )
  await t.rejects(checkRedis('redis+cluster://127.0.0.1:1'), /^REDIS_URL: 127\.0\.0\.1:1 cannot be reached/)
})
