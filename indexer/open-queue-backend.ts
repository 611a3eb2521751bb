import { jsonParsedBy } from '../shared/db/json-types.ts'
import { QueueClient } from '../shared/db/queue-client.ts'
import type { QueueBackend } from './queue/backend.ts'
import { queueOnPostgres } from './queue/backend-on-postgres.ts'
import { queueOnRedis } from './queue/backend-on-redis.ts'

/**
 * Opens nothing yet. `onError` hears of lost connections, which are opened again: on Postgres BullMQ lends them to its own
 * transactions without listening to them, hence their class.
 */
export function openQueueBackend(
  { redisUrl, databaseUrl }: { redisUrl: string | undefined; databaseUrl: string },
  onError: (error: Error) => void,
): QueueBackend {
  return redisUrl === undefined
    ? queueOnPostgres(databaseUrl, { Client: QueueClient, jsonParsedBy }, onError)
    : queueOnRedis(redisUrl, onError)
}
