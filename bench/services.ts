import type { Db } from '../shared/db/connect.ts'
import { startServices } from '../test/helpers/services.ts'
import { startBenchPostgres, type BenchPostgres } from './bench-postgres.ts'

export type QueueKind = 'redis' | 'postgres'

/** The databases and queues that the service's programs need. */
export interface BenchServices {
  postgres: BenchPostgres
  /** Provides an empty Postgres database and, where the queue needs it, an empty Redis; the work owns both. */
  withDatabases: <T>(work: (databases: Databases) => Promise<T>) => Promise<T>
}

export interface Databases {
  databaseUrl: string
  /** Null: the queue is in Postgres. */
  redisUrl: string | null
  db: Db
}

/** Runs real services during `work`. Throws where the queue's service is not installed. */
export async function withServices<T>(
  queue: QueueKind,
  work: (services: BenchServices) => Promise<T>,
  { countsStatements = false } = {},
): Promise<T> {
  const redis = queue === 'redis' ? await startServices(['redis']) : null
  const postgres = await startBenchPostgres(countsStatements)
  let taken = 0
  try {
    if (redis?.redisUrl === null) throw new Error('no redis-server is on the path')
    const withDatabases: BenchServices['withDatabases'] = async (use) => {
      const { url, db, drop } = await postgres.newDatabase()
      const redisUrl = redis === null ? null : `${redis.redisUrl ?? ''}/${(taken += 1)}`
      try {
        return await use({ databaseUrl: url, redisUrl, db })
      } finally {
        await drop()
      }
    }
    return await work({ postgres, withDatabases })
  } finally {
    await postgres.stop()
    await redis?.stop()
  }
}
