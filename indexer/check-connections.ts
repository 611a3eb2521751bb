import type { Networks } from '../shared/config/networks.ts'
import { inspectDatabase, poolSize, requireOwnSessions } from '../shared/db/inspect.ts'
import type { Logger } from '../shared/log.ts'

/** Connections of the pool that writes and keeps status: wanted, and the least with which no network waits for itself. */
const [POOL, LEAST_POOL] = [8, 3]
/** One session holds a network's lease. */
const LEASE = 1
/** BullMQ on Postgres, for each queue: one for adding, one for its worker, one on which that listens. */
const QUEUE = 3

/**
 * The size of the indexer's pool, where the role, the database and the server allow what it takes. `tell` logs the numbers, once the program has started.
 * Throws a ConfigError with the numbers where they do not, or where sessions are shared.
 */
export async function checkConnections(
  databaseUrl: string,
  { evm, filecoin }: Networks,
  redisUrl: string | undefined,
): Promise<{ pool: number; tell: (log: Logger) => void }> {
  const facts = await inspectDatabase(databaseUrl, 'DATABASE_URL')
  requireOwnSessions(facts)
  const networks = evm.length + filecoin.length
  // A Filecoin network takes vouchers by a queue of their own.
  const queues = redisUrl === undefined ? networks + filecoin.length : 0
  const others = networks * LEASE + queues * QUEUE
  const pool = poolSize(facts, { variable: 'DATABASE_URL', wanted: POOL, least: LEAST_POOL, others })
  const { limit, limitOf, free } = facts
  const connections = pool + others
  const tell = (log: Logger): void => {
    log.info({ connections, limit, limitOf, free }, 'database connections, at most')
    if (free < connections)
      log.warn(`${limitOf} has ${free} of ${limit} connections free; the indexer takes up to ${connections}`)
  }
  return { pool, tell }
}
