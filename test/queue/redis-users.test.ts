import { execFileSync } from 'node:child_process'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { RateWindows } from '../../api/plugins/rate-windows.ts'
import { queueOnRedis } from '../../indexer/queue/backend-on-redis.ts'
import { checkRedis } from '../../indexer/queue/check-redis.ts'
import { createLogger } from '../../shared/log.ts'
import { REDIS_SERVICE, startComposedRedis, startRedis } from '../helpers/composed-redis.ts'
import { documents } from '../helpers/documents.ts'
import { eventually } from '../helpers/programs.ts'
import { countTogether } from '../helpers/rate-counts.ts'
import { testRedis } from '../helpers/redis.ts'

/** The Redis users of docker-compose.yml, on a real server that is started with the same arguments. */

const PREFIX = 'loan-activity'

function connectAs(t: Test, port: number, user: string, password: string): Redis {
  const redis = new Redis({ port, username: user, password, maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  t.teardown(() => redis.disconnect())
  return redis
}

void t.test('the users of docker-compose.yml', async (t) => {
  if ((await testRedis(t)) === null) return
  const port = await startComposedRedis(t)
  const indexer = connectAs(t, port, 'indexer', 'indexer1')
  const producer = connectAs(t, port, 'producer', 'producer1')
  const queueOf = (connection: Redis, name: string): Queue => {
    const queue = new Queue(name, { connection, prefix: PREFIX })
    queue.on('error', () => undefined)
    t.teardown(() => queue.close())
    return queue
  }

  await t.test('the indexer reads the eviction policy, and runs queues and workers', async (t) => {
    t.same(await checkRedis(`redis://indexer:indexer1@127.0.0.1:${port}`), [])
    const done: unknown[] = []
    const worker = new Worker('steps-evm-1', (job) => Promise.resolve(done.push(job.data)), {
      connection: indexer,
      prefix: PREFIX,
    })
    worker.on('error', (error) => t.fail(error.message))
    await queueOf(indexer, 'steps-evm-1').add('blocks', { n: 1 }, { removeOnComplete: true })
    await eventually('the job is done', () => Promise.resolve(done.length === 1))
    await worker.close()
  })

  await t.test('a producer adds vouchers, which the indexer takes', async (t) => {
    const taken: unknown[] = []
    const vouchers = queueOf(producer, 'vouchers')
    await vouchers.add('voucher', { voucher: 'first' })
    await vouchers.add('voucher', { voucher: 'second' }, { jobId: 'voucher-2', removeOnComplete: true })
    const worker = new Worker('vouchers', (job) => Promise.resolve(taken.push(job.data)), {
      connection: indexer,
      prefix: PREFIX,
    })
    worker.on('error', (error) => t.fail(error.message))
    await vouchers.add('voucher', { voucher: 'third' })
    await eventually('all are taken', () => Promise.resolve(taken.length === 3))
    await worker.close()
  })

  await t.test('a producer may do nothing else', async (t) => {
    await queueOf(indexer, 'vouchers').add(
      'voucher',
      { voucher: 'kept' },
      { delay: 3_600_000, jobId: 'kept' },
    )
    const own = queueOf(producer, 'vouchers')
    const denied: [string, () => Promise<unknown>][] = [
      ['add to a network’s queue', () => queueOf(producer, 'steps-evm-1').add('blocks', {})],
      ['remove a voucher', () => own.remove('kept')],
      ['drain the vouchers', () => own.drain(true)],
      ['delete the vouchers', () => own.obliterate({ force: true })],
      ['delete a key', () => producer.del(`${PREFIX}:vouchers:kept`)],
      ['write another key', () => producer.set('elsewhere', '1')],
      ['read another queue', () => producer.hgetall(`${PREFIX}:steps-evm-1:meta`)],
      ['list the keys', () => producer.keys('*')],
      ['flush', () => producer.flushall()],
      ['change the configuration', () => producer.config('SET', 'maxmemory', '1')],
      ['make itself another user', () => producer.call('ACL', 'SETUSER', 'producer', '+@all')],
      ['load a function', () => producer.call('FUNCTION', 'LOAD', '#!lua name=x\n')],
      ['shut it down', () => producer.call('SHUTDOWN', 'NOSAVE')],
    ]
    for (const [what, work] of denied)
      await t.rejects(work(), /NOPERM|permission|can't run this command/i, what)
    t.equal(await indexer.exists(`${PREFIX}:vouchers:kept`), 1)
  })

  await t.test('the API counts requests, and may do nothing else', async (t) => {
    const log = createLogger('test', 'silent')
    const open = (): RateWindows => new RateWindows(`redis://api:api1@127.0.0.1:${port}`, log)
    const [one, two] = [open(), open()]
    t.teardown(() => [one, two].forEach((windows) => windows.close()))
    await countTogether(one, two)
    const api = connectAs(t, port, 'api', 'api1')
    await t.rejects(api.set('elsewhere', '1'), /NOPERM/)
    await t.rejects(api.del(`${PREFIX}:rate:client`), /NOPERM/)
    await t.rejects(api.hgetall(`${PREFIX}:vouchers:meta`), /NOPERM/)
  })

  await t.test('the indexer has no command that could harm others on this Redis', async (t) => {
    const denied: [string, () => Promise<unknown>][] = [
      ['write another key', () => indexer.set('elsewhere', '1')],
      ['flush', () => indexer.flushall()],
      ['change the configuration', () => indexer.config('SET', 'maxmemory', '1')],
      ['read the users', () => indexer.call('ACL', 'LIST')],
    ]
    for (const [what, work] of denied)
      await t.rejects(work(), /NOPERM|permission|can't run this command/i, what)
  })

  await t.test('the health check tells an answer from an error', (t) => {
    const [kind, command = ''] = REDIS_SERVICE.healthcheck.test
    t.equal(kind, 'CMD-SHELL')
    const exitCode = (text: string): number => {
      try {
        execFileSync('sh', ['-c', text], { stdio: 'ignore' })
        return 0
      } catch (error) {
        return (error as { status: number }).status
      }
    }
    const here = command.replace('redis-cli', `redis-cli -p ${port}`)
    t.equal(exitCode(here), 0)
    t.not(exitCode(here.replace('--user health', '--user nobody')), 0, 'refused')
    t.not(exitCode(here.replace(' ping', ' get x')), 0, 'an error reply')
    t.not(exitCode(command.replace('redis-cli', 'redis-cli -p 1')), 0, 'not there')
    t.end()
  })
})

void t.test('docs/operations.md gives a producer what docker-compose.yml gives it', (t) => {
  const { command } = REDIS_SERVICE
  const rules = command.slice(command.indexOf('~loan-activity:vouchers:*'))
  t.ok(rules.length > 10)
  const [, said = ''] =
    /^user producer on >PASSWORD (.+)$/m.exec(documents.get('docs/operations.md') ?? '') ?? []
  t.same(said.split(' '), rules)
  t.end()
})

void t.test('what Redis refuses is named, and no password is shown', async (t) => {
  if ((await testRedis(t)) === null) return
  const port = await startRedis(t, [
    ...['--requirepass', 'secret-word', '--user', 'narrow', 'on', '>narrow', '~x:*', '+get'],
  ])
  const host = `127.0.0.1:${port}`
  const lines: [string, RegExp][] = [
    [`redis://:wrong-word@${host}`, /^REDIS_URL: 127\.0\.0\.1:\d+ refuses the user or the password/],
    [`redis://nobody:wrong-word@${host}`, /^REDIS_URL: 127\.0\.0\.1:\d+ refuses the user or the password/],
    [`redis://${host}`, /^REDIS_URL: 127\.0\.0\.1:\d+ wants a password/],
    [`redis://narrow:narrow@${host}`, /^REDIS_URL: 127\.0\.0\.1:\d+ denies this user/],
    [`redis://:secret-word@${host}/99`, /^REDIS_URL: 127\.0\.0\.1:\d+ cannot be used: .*out of range/],
    ['redis://:wrong-word@127.0.0.1:1', /^REDIS_URL: 127\.0\.0\.1:1 cannot be reached/],
  ]
  for (const [url, message] of lines) {
    const error = await checkRedis(url).then(
      () => new Error('it was accepted'),
      (error: unknown) => error as Error,
    )
    t.match(error.message, message, url)
    t.notMatch(error.message, /wrong-word|secret-word/)
  }
  t.same(await checkRedis(`redis://:secret-word@${host}`), [])
})

void t.test('another eviction policy is a warning of ours, and none of BullMQ', async (t) => {
  if ((await testRedis(t)) === null) return
  const port = await startRedis(t, ['--maxmemory-policy', 'allkeys-lru'])
  const printed: unknown[] = []
  t.capture(console, 'warn', (text: unknown) => printed.push(text))
  const backend = queueOnRedis(`redis://127.0.0.1:${port}`, (error) => t.fail(error.message))
  t.teardown(() => backend.close())
  t.match(await backend.check(), [/^Redis has the maxmemory-policy "allkeys-lru": set "noeviction"/])
  const queue = backend.openQueue('steps-evm-1')
  const settings = { lockDuration: 30_000, mostCharacters: 1_000 }
  let done = 0
  const worker = backend.openWorker('steps-evm-1', () => Promise.resolve((done += 1)), settings)
  await queue.add('blocks', { n: 1 }, {})
  await eventually('the job is done', () => Promise.resolve(done === 1))
  await worker.close()
  await queue.close()
  t.same(printed, [])
})
