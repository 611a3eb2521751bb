import { once } from 'node:events'
import t from 'tap'
import { boundedReplies } from '../../indexer/queue/bounded-jobs.ts'
import { openRedis } from '../../indexer/queue/queue-redis.ts'
import { eventually } from '../helpers/programs.ts'
import { testRedis } from '../helpers/redis.ts'

const RETRYING = { retryStrategy: () => 50 }

void t.test('a command that was sent again and fails rejects for its sender alone', async (t) => {
  const url = await testRedis(t)
  if (url === null) return
  const other = openRedis(url, '', RETRYING, boundedReplies(1_000))
  t.teardown(() => other.disconnect())
  const redis = openRedis(
    url,
    '',
    { ...RETRYING, maxRetriesPerRequest: null, connectionName: 'sent-again' },
    boundedReplies(1_000),
  )
  await once(redis, 'ready')
  const isWaiting = async (): Promise<boolean> =>
    /name=sent-again .*cmd=xread/.test(String(await other.client('LIST')))
  const read = redis.xread('BLOCK', 0, 'STREAMS', 'events', '$').then(
    () => 'answered',
    () => 'rejected',
  )
  await eventually('the command waits', isWaiting)
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  t.teardown(() => process.off('unhandledRejection', onUnhandled))
  redis.disconnect(true)
  await once(redis, 'ready')
  await eventually('the command waits again', isWaiting)
  redis.disconnect()
  t.equal(await read, 'rejected')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(unhandled, [])
})
