import type { Environment } from '../shared/config/config.ts'
import { webhookQueueName } from '../shared/config/webhooks.ts'
import type { Db } from '../shared/db/connect.ts'
import { jsonParsedBy } from '../shared/db/json-types.ts'
import { openQueuePool, QueueClient } from '../shared/db/queue-client.ts'
import { VOUCHER_QUEUE } from '../shared/events/handed-in.ts'
import type { Logger } from '../shared/log.ts'
import { mountQueuePage, type QueuePage } from './queue-page/mount.ts'
import { stepQueueName } from './queue/step-queue.ts'
import { getWebhookNames } from './webhooks/outbox.store.ts'

/** The page of all queues, as QUEUE_PAGE wants it; undefined where it is off. Opens nothing yet. */
export function openQueuePage(
  { QUEUE_PAGE: mode, QUEUE_PAGE_PASSWORD: password = '', REDIS_URL: redisUrl }: Environment,
  { databaseUrl, db, networks, log }: { databaseUrl: string; db: Db; networks: string[]; log: Logger },
  onError: (error: Error) => void,
): QueuePage | undefined {
  if (mode === 'off') return undefined
  return mountQueuePage({
    ...{ mode, password, log },
    queueNames: async () => [
      ...networks.map(stepQueueName),
      ...(networks.some((network) => network.startsWith('filecoin:')) ? [VOUCHER_QUEUE] : []),
      ...(await getWebhookNames(db)).map(webhookQueueName),
    ],
    openQueues: async () => {
      const { pageQueuesOnPostgres, pageQueuesOnRedis } = await import('./queue/page-queues.ts')
      return redisUrl === undefined
        ? pageQueuesOnPostgres(
            databaseUrl,
            { Client: QueueClient, openPool: openQueuePool, jsonParsedBy },
            onError,
          )
        : pageQueuesOnRedis(redisUrl, onError)
    },
  })
}
