import t from 'tap'
import { RateWindows } from '../../api/plugins/rate-windows.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { checkRedis } from '../../indexer/queue/check-redis.ts'
import { createLogger } from '../../shared/log.ts'
import { startRedis } from '../helpers/composed-redis.ts'
import { eventually } from '../helpers/programs.ts'
import { countTogether } from '../helpers/rate-counts.ts'
import { testRedis } from '../helpers/redis.ts'
import { inStep } from '../helpers/redis-group.ts'
import { startSentinelGroup } from '../helpers/redis-sentinel.ts'

t.setTimeout(240_000)

void t.test('with Sentinel, jobs and counts outlive the master', async (t) => {
  if ((await testRedis(t)) === null) return
  const group = await startSentinelGroup()
  t.teardown(() => group.stop())
  const backend = openQueueBackend({ redisUrl: group.url, databaseUrl: '' }, () => undefined)
  t.teardown(() => backend.close())
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
  const add = (name: string): Promise<unknown> => queue.add('job', name, { jobId: name })
  for (let number = 0; number < 20; number += 1) await add(`before-${number}`)
  await other.add('job', 'kept', { jobId: 'kept' })
  await eventually('all jobs are taken', () => taken.size === 20)
  await eventually('and told of', () => told.has('before-19'))

  const before = group.master()
  await inStep(before.port)
  await before.process.kill()
  const added = Array.from({ length: 20 }, (_, number) => add(`after-${number}`))
  await Promise.all(added)
  await eventually(
    () => `only ${[...taken].join(' ')}`,
    () => taken.size === 40,
  )
  t.not(group.master(), before, 'another is the master')
  t.equal(await other.getJobState('kept'), 'waiting')
  await eventually('it takes writes', () =>
    backend.ask().then(
      () => true,
      () => false,
    ),
  )

  const open = (): RateWindows => new RateWindows(group.url, createLogger('test', 'silent'))
  const [one, two] = [open(), open()]
  t.teardown(() => [one, two].forEach((windows) => windows.close()))
  await countTogether(one, two)

  await Promise.all([worker.close(), events.close(), queue.close(), other.close()])
  const port = /:(\d+),/.exec(group.url)?.[1] ?? ''
  await t.rejects(checkRedis(`redis://127.0.0.1:${port}`), /is a Sentinel: write redis\+sentinel:/)
})

void t.test('a node of a Cluster is refused at the start', async (t) => {
  if ((await testRedis(t)) === null) return
  const port = await startRedis(t, ['--cluster-enabled', 'yes'])
  await t.rejects(
    checkRedis(`redis://127.0.0.1:${port}`),
    /is a node of a Redis Cluster: write redis\+cluster:/,
  )
})

void t.test('servers that are none of a group', async (t) => {
  const url = await testRedis(t)
  if (url === null) return
  const { host } = new URL(url)
  await t.rejects(checkRedis(`redis+sentinel://${host}/nobody`), /^REDIS_URL: 127\.0\.0\.1:\d+ /)
  await t.rejects(
    checkRedis('redis+sentinel://127.0.0.1:1,127.0.0.1:2/nobody'),
    /^REDIS_URL: 127\.0\.0\.1:1,127\.0\.0\.1:2 cannot be reached/,
  )
})
