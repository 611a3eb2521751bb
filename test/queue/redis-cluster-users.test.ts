import t, { type Test } from 'tap'
import { RateWindows } from '../../api/plugins/rate-windows.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { QueueBackend } from '../../indexer/queue/backend.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { createLogger } from '../../shared/log.ts'
import { composedUsers } from '../helpers/composed-redis.ts'
import { documents } from '../helpers/documents.ts'
import { eventually } from '../helpers/programs.ts'
import { startRedisCluster, type ClusterGroup } from '../helpers/redis-cluster.ts'
import { redisCli } from '../helpers/redis-group.ts'
import { testRedis } from '../helpers/redis.ts'

t.setTimeout(120_000)

/** The key patterns of users on a Cluster, and their further commands, as the documentation has them. */
function documentedRules(): [user: string, keys: string, commands: string[]][] {
  const rows = (documents.get('docs/operations.md') ?? '').matchAll(/^\| (\w+) \| `(~\{\S+)` \| (.+) \|$/gm)
  let commands: string[] = []
  return [...rows].map(([, user = '', keys = '', more = '']) => {
    if (more !== 'the same') commands = more.replaceAll(/[`\\]/g, '').split(' ')
    return [user, keys, commands]
  })
}

function createUsers(group: ClusterGroup): void {
  for (const [user, keys, commands] of documentedRules()) {
    const rules = (composedUsers().get(user) ?? []).map((rule) => (rule.startsWith('~') ? keys : rule))
    for (const { port } of group.nodes) redisCli(port, 'acl', 'setuser', user, ...rules, ...commands)
  }
  for (const { port } of group.nodes) redisCli(port, 'acl', 'setuser', 'default', 'off')
}

void t.test('the users of the documentation on a Cluster', async (t) => {
  if ((await testRedis(t)) === null) return
  const group = await startRedisCluster()
  t.teardown(() => group.stop())
  t.same(
    documentedRules().map(([user]) => user),
    ['indexer', 'api', 'producer'],
  )
  createUsers(group)
  const urlOf = (login: string): string => group.url.replace('//', `//${login}@`)
  const backendOf = (t: Test, login: string): QueueBackend => {
    const backend = openQueueBackend({ redisUrl: urlOf(login), databaseUrl: '' }, (error) =>
      t.fail(error.message),
    )
    t.teardown(() => backend.close())
    return backend
  }
  const indexer = backendOf(t, 'indexer:indexer1')

  await t.test('vouchers come from a producer to the indexer', async (t) => {
    t.same(await indexer.check(), [])
    const taken: unknown[] = []
    const take = ({ data }: { data: unknown }): Promise<unknown> => Promise.resolve(taken.push(data))
    const worker = indexer.openWorker('vouchers', take, { mostCharacters: 1_000 })
    const queue = openVoucherQueue(backendOf(t, 'producer:producer1'))
    await addVoucher(queue, { voucher: 'one' }, '1')
    await eventually('it is taken', () => taken.length === 1)
    await indexer.ask()
    await Promise.all([worker.close(), queue.close()])
  })

  await t.test('an API counts', async (t) => {
    const windows = new RateWindows(urlOf('api:api1'), createLogger('test', 'silent'))
    t.teardown(() => windows.close())
    await eventually('Redis counts', () => windows.isShared)
    const store = new (windows.storeClass())({})
    await new Promise<void>((resolve, reject) => {
      store.incr('client', (error) => (error ? reject(error) : resolve()), 60_000, 9)
    })
    t.ok(windows.isShared, 'it has not failed')
  })

  await t.test('what nodes refuse is named', async (t) => {
    const check = (login: string): Promise<string[]> =>
      openQueueBackend({ redisUrl: urlOf(login), databaseUrl: '' }, () => undefined).check()
    await t.rejects(check('indexer:wrong'), /^REDIS_URL: 127\.0\.0\.1:\S+ refuses the user or the password/)
    await t.rejects(check('health:health'), /^REDIS_URL: 127\.0\.0\.1:\S+ refuses the user or the password/)
    await t.rejects(
      openQueueBackend({ redisUrl: group.url, databaseUrl: '' }, () => undefined).check(),
      /wants a password/,
    )
  })
})
