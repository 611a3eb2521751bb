import { PostgresConnection, PostgresQueueBackend, type BackendFactory, type PgPool } from 'bullmq'

/** BullMQ's tables live in a schema of their own. */
export const SCHEMA = 'queue'

export interface PoolSettings {
  connectionString: string
  max: number
  [setting: string]: unknown
}

/** Opens a pool of node-postgres, whose types BullMQ describes otherwise. */
export type OpenPool = (settings: PoolSettings) => unknown

/**
 * Runs BullMQ on pools that are opened here. BullMQ would open the session on which it listens beside its own pool, and stop
 * listening to its errors before it ends it: a server that ends the session in that moment would end the process.
 */
export function backendOnPools(openPool: OpenPool): BackendFactory<PostgresQueueBackend, PoolSettings> {
  return (name, opts, { blocking = false, withBlockingConnection = false } = {}) => {
    const connection = new PooledConnection(openPool(opts.connection) as PgPool)
    // BullMQ's names of the sessions that listen, which it looks for in pg_stat_activity.
    const listener = withBlockingConnection ? name : blocking ? `${name}:qe` : undefined
    return new PostgresQueueBackend(connection, name, opts, true, listener)
  }
}

/** A connection that ends its pool when it is closed. */
export class PooledConnection extends PostgresConnection {
  /** BullMQ takes its default name for a pool that it did not open. */
  override readonly schema = SCHEMA
  #ended: Promise<void> | undefined

  /** BullMQ leaves a pool open that it did not open. */
  override close(): Promise<void> {
    return (this.#ended ??= super.close().finally(() => this.pool.end()))
  }
}
