import type { Environment } from '../shared/config/config.ts'
import type { Networks } from '../shared/config/networks.ts'
import { inspectDatabase, poolSize, requireOwnSessions } from '../shared/db/inspect.ts'
import type { Role } from '../shared/indexing-health.ts'
import type { Logger } from '../shared/log.ts'

/** Connections of the pool that writes and keeps status: wanted, and the least with which no network waits for itself. */
const [POOL, LEAST_POOL] = [8, 3]
/** One session holds a lease: that which registers this process, and one for each network and role. */
const LEASE = 1
/** BullMQ on Postgres: a queue has one, a worker one and one on which it listens, and so have events. */
const [QUEUE, WORKER, EVENTS] = [1, 2, 2]

/** All queues share them (see queue/page-queues.ts, which is loaded only where the page is on). */
const QUEUE_PAGE_POOL = 2

/** Connections for each network, where the queue is on Postgres. */
const QUEUE_OF: Record<Role, number> = { reader: QUEUE + EVENTS, writer: QUEUE + WORKER }
/** The writer of a Filecoin network takes vouchers from a queue of their own. */
const VOUCHER_QUEUE = QUEUE + WORKER

/**
 * The size of the indexer's pool, where the role, the database and the server allow the connections of an indexer with these
 * roles. `tell` logs the numbers, once the program has started. Throws a ConfigError with the numbers where they do not, or
 * where sessions are shared.
 */
export async function checkConnections(
  databaseUrl: string,
  networks: Networks,
  { REDIS_URL: redisUrl, QUEUE_PAGE }: Pick<Environment, 'REDIS_URL' | 'QUEUE_PAGE'>,
  roles: readonly Role[],
): Promise<{ pool: number; tell: (log: Logger) => void }> {
  const facts = await inspectDatabase(databaseUrl, 'DATABASE_URL')
  requireOwnSessions(facts)
  const ofPage = QUEUE_PAGE === 'off' || redisUrl !== undefined ? 0 : QUEUE_PAGE_POOL
  const others = countOthers(networks, redisUrl === undefined, roles) + ofPage
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

/** Connections beside the pool, of an indexer that has all networks. */
function countOthers(
  { evm, filecoin }: Networks,
  isQueueOnPostgres: boolean,
  roles: readonly Role[],
): number {
  const networks = evm.length + filecoin.length
  const leases = LEASE + networks * roles.length * LEASE
  if (!isQueueOnPostgres) return leases
  const queues = roles.reduce((sum, role) => sum + networks * QUEUE_OF[role], 0)
  return leases + queues + (roles.includes('writer') ? filecoin.length * VOUCHER_QUEUE : 0)
}
