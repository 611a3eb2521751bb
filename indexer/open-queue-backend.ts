import { jsonParsedBy } from '../shared/db/json-types.ts'
import { openQueuePool, QueueClient } from '../shared/db/queue-client.ts'
import type { QueueBackend } from './queue/backend.ts'
import { queueOnPostgres } from './queue/backend-on-postgres.ts'
import { queueOnRedis } from './queue/backend-on-redis.ts'

/**
 * Opens nothing yet. `onError` hears of lost connections, which are opened again. BullMQ does not listen to its connections
 * to Postgres all the time, hence their class and their pool.
 */
export function openQueueBackend(
  { redisUrl, databaseUrl }: { redisUrl: string | undefined; databaseUrl: string },
  onError: (error: Error) => void,
): QueueBackend {
  return redisUrl === undefined
    ? queueOnPostgres(databaseUrl, { Client: QueueClient, openPool: openQueuePool, jsonParsedBy }, onError)
    : queueOnRedis(redisUrl, onError)
}
