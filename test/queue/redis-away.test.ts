import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { QueueBackend } from '../../indexer/queue/backend.ts'
import { messageOf } from '../../shared/errors.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'
import { startRedis } from '../simulation/redis-server.ts'

t.setTimeout(120_000)

function open(t: Test, redisUrl: string): QueueBackend {
  const backend = openQueueBackend({ redisUrl, databaseUrl: 'postgres://unused' }, () => undefined)
  t.teardown(() => backend.close())
  return backend
}

/** The first word of the refusal, or null when Redis answers and takes writes. */
async function refusal(backend: QueueBackend): Promise<string | null> {
  return backend.ask().then(
    () => null,
    (error: unknown) => messageOf(error),
  )
}

async function until(good: () => Promise<boolean> | boolean, withinMs: number): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < withinMs) {
    if (await good()) return performance.now() - since
    await sleep(20)
  }
  return Infinity
}

type Commands = string[]

const cases: [what: string, refuse: Commands, accept: Commands, told: RegExp][] = [
  [
    'read-only',
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
    /^Redis at 127\.0\.0\.1:\d+: READONLY/,
  ],
  [
    'full',
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
    /^Redis at 127\.0\.0\.1:\d+: OOM/,
  ],
]

void t.test(
  'a Redis that refuses writes is named, and what waits is done when it takes them again',
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    const operator = new Redis(redis.url)
    t.teardown(() => operator.disconnect())
    for (const [what, [refuse = '', ...refused], [accept = '', ...accepted], told] of cases) {
      await t.test(what, async (t) => {
        const backend = open(t, redis.url)
        const took: unknown[] = []
        const worker = backend.openWorker(what, ({ data }) => Promise.resolve(took.push(data)), {
          mostCharacters: 1_000,
        })
        const queue = backend.openQueue(what)
        await queue.add('job', 'before', {})
        await until(() => took.length === 1, 60_000)
        t.equal(await refusal(backend), null)
        await operator.call(refuse, ...refused)
        t.match(await refusal(backend), told)
        const added = queue.add('job', 'meanwhile', {})
        await sleep(3_000)
        t.same(took, ['before'])
        await operator.call(accept, ...accepted)
        const ms = await until(() => took.length === 2, 20_000)
        // BullMQ's own pause after a refusal is 15 s.
        t.ok(ms < 14_000, `taken after ${Math.round(ms)} ms`)
        await added
        t.same(took, ['before', 'meanwhile'])
        t.equal(await refusal(backend), null)
        await worker.close()
        await queue.close()
      })
    }
  },
)

void t.test('connections that are dead without a word are replaced', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const link = await untrustyLink(t, redis.url)
  const backend = open(t, link.url)
  const took: unknown[] = []
  const worker = backend.openWorker('half-open', ({ data }) => Promise.resolve(took.push(data)), {
    mostCharacters: 1_000,
  })
  const queue = backend.openQueue('half-open')
  await queue.add('job', 'before', {})
  await until(() => took.length === 1, 60_000)
  t.equal(await refusal(backend), null)
  // Commands arrive, and no answer ever comes back on these connections; new ones work.
  link.holdAnswers()
  t.match(await refusal(backend), /^Redis at 127\.0\.0\.1:\d+: Command timed out/)
  const added = queue.add('job', 'meanwhile', { jobId: 'once' })
  // Ten seconds of silence end a connection.
  await until(() => took.length >= 2, 60_000)
  await added
  t.same(took, ['before', 'meanwhile'])
  t.ok(Number.isFinite(await until(async () => (await refusal(backend)) === null, 60_000)))
  await worker.close()
  await queue.close()
})

void t.test('a queue and a worker that are opened while Redis is away work once it is there', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  await redis.kill()
  const backend = open(t, redis.url)
  const took: unknown[] = []
  const worker = backend.openWorker('early', ({ data }) => Promise.resolve(took.push(data)), {
    mostCharacters: 1_000,
  })
  const queue = backend.openQueue('early')
  const added = queue.add('job', 'early', {})
  t.match(await refusal(backend), /^Redis at 127\.0\.0\.1:\d+: .*ECONNREFUSED/)
  await sleep(2_000)
  await redis.start()
  const ms = await until(() => took.length === 1, 20_000)
  t.ok(ms < 14_000, `taken after ${Math.round(ms)} ms`)
  await added
  await worker.close()
  await queue.close()
})
