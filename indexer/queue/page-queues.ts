import { PostgresQueueBackend, withBackend, type PgPool, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { PostgresDriver } from './backend-on-postgres.ts'
import { parseBounded } from './bounded-jobs.ts'
import { MAX_ENVELOPE } from './envelope.ts'
import { madeOnce } from './made-once.ts'
import { PooledConnection } from './postgres-pools.ts'
import { queuePrefix } from './queue-prefix.ts'
import { patientRedis } from './redis-connections.ts'

/** Connections to Postgres that all queues of the page share. */
export const PAGE_CONNECTIONS = 2

/** Queues for the page that shows them, on connections of their own. */
export interface PageQueues {
  /** Opens a queue and writes nothing. */
  open(name: string): Queue
  /** Rejects if the server cannot be used. The page then opens its queues anew. */
  waitUntilReady(): Promise<void>
  close(): Promise<void>
}

export function pageQueuesOnPostgres(
  connectionString: string,
  driver: PostgresDriver,
  onError: (error: Error) => void,
): PageQueues {
  const pool = driver.openPool({
    ...{ connectionString, max: PAGE_CONNECTIONS, connectionTimeoutMillis: 5_000, keepAlive: true },
    application_name: 'loan-activity queue page',
    ...{ Client: driver.Client, types: driver.jsonParsedBy((text) => parseBounded(text, MAX_ENVELOPE)) },
  })
  const connection = new PooledConnection(pool as PgPool)
  connection.on('error', onError)
  const isOwner = false
  const bull = withBackend(
    (name, options: ConstructorParameters<typeof PostgresQueueBackend>[2]) =>
      new PostgresQueueBackend(connection, name, options, isOwner),
  )
  return {
    // The type of BullMQ's queues names Redis, which Bull Board needs no more than we do.
    open: (name) =>
      new bull.Queue(name, { connection: {}, skipMetasUpdate: true }).on(
        'error',
        onError,
      ) as unknown as Queue,
    waitUntilReady: () => connection.waitUntilReady(),
    close: () => connection.close(),
  }
}

export function pageQueuesOnRedis(url: string, onError: (error: Error) => void): PageQueues {
  const connections = new Map<string, Redis>()
  return {
    open(name) {
      const prefix = queuePrefix(url, name)
      const connection = madeOnce(connections, prefix, () =>
        patientRedis(url, prefix, MAX_ENVELOPE).on('error', onError),
      )
      return new Queue(name, { connection, prefix, skipMetasUpdate: true }).on('error', onError)
    },
    waitUntilReady: () => Promise.resolve(),
    close: () => {
      for (const connection of connections.values()) connection.disconnect()
      return Promise.resolve()
    },
  }
}
