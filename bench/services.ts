import type { Db } from '../shared/db/connect.ts'
import { startServices } from '../test/helpers/services.ts'
import { startBenchPostgres, type BenchPostgres } from './bench-postgres.ts'

export type QueueKind = 'redis' | 'postgres'

/** What programs of the service run on. */
export interface BenchServices {
  postgres: BenchPostgres
  /** Starts with an empty database of Postgres and, where the queue is there, of Redis; both are its own. */
  withDatabases: <T>(work: (databases: Databases) => Promise<T>) => Promise<T>
}

export interface Databases {
  databaseUrl: string
  /** Null: the queue is in Postgres. */
  redisUrl: string | null
  db: Db
}

/** Real services while `work` runs. Throws where the queue's is not on this machine. */
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
