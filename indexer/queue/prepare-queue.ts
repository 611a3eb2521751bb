import { createPostgresBackend, withBackend } from 'bullmq'
import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import type { PostgresDriver } from './backend-on-postgres.ts'
import { SCHEMA } from './postgres-pools.ts'

/** Long enough that no worker takes the job before it is removed. */
const NEVER_DUE_MS = 3_600_000

/**
 * Makes BullMQ's tables if they are missing, as their owner. BullMQ makes the sequence that numbers a queue's jobs with its
 * first job. That job is made here, because a producer without DDL rights could not.
 */
export async function prepareQueueSchema(
  connectionString: string,
  { Client }: Pick<PostgresDriver, 'Client'>,
): Promise<void> {
  const bull = withBackend(createPostgresBackend)
  const connection = {
    ...{ connectionString, schema: SCHEMA, migrate: true, max: 1 },
    ...{ connectionTimeoutMillis: 10_000, Client },
  }
  const queue = new bull.Queue(VOUCHER_QUEUE, { connection, skipMetasUpdate: true })
  // The calls below reject with the same errors.
  queue.on('error', () => undefined)
  try {
    await queue.waitUntilReady()
    const job = await queue.add('first', {}, { delay: NEVER_DUE_MS })
    await job.remove()
  } finally {
    await queue.close()
  }
}
