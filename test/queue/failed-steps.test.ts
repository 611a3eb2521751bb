import t from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { forgetFailedSteps, openStepQueue, stepQueueName } from '../../indexer/queue/step-queue.ts'
import { startComposedRedis } from '../helpers/composed-redis.ts'
import { testDatabase } from '../helpers/database.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'

const NETWORK = 'evm:31337'
const KEPT = { count: 10 }

for (const kind of queueKinds) {
  void t.test(`on ${kind}: failed steps are forgotten, those that wait are not`, async (t) => {
    const { url: databaseUrl } = await testDatabase(t)
    const redisUrl =
      kind === 'redis' ? `redis://indexer:indexer1@127.0.0.1:${await startComposedRedis(t)}` : undefined
    const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
    const queue = openStepQueue(backend, NETWORK)
    const worker = backend.openWorker(stepQueueName(NETWORK), () => Promise.reject(new Error('refused')), {
      ...{ concurrency: 1, lockDuration: 5_000, stalledInterval: 5_000, maxStalledCount: 1 },
      ...{ mostCharacters: 1_000, removeOnComplete: { count: 0 }, removeOnFail: KEPT },
    })
    const counts = async (): Promise<string> =>
      JSON.stringify(await queue.getJobCounts('failed', 'waiting', 'delayed'))
    const options = { removeOnFail: KEPT }
    await queue.add('blocks', {}, options)
    await queue.add('blocks', {}, options)
    await eventually('both failed', async () => (await counts()) === '{"failed":2,"waiting":0,"delayed":0}')
    await worker.close()
    await queue.add('blocks', {}, options)
    await forgetFailedSteps(queue)
    t.equal(await counts(), '{"failed":0,"waiting":1,"delayed":0}')
    await queue.close()
    backend.close()
  })
}
