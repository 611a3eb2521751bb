import { loadEnvironment, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect } from '../../shared/db/connect.ts'
import { inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { prepareQueue } from '../prepare-queue.store.ts'
import { print, requireWrites, type OutputOptions } from './context.ts'

/**
 * Migrates the schema to this version, and prepares the queue in Postgres unless REDIS_URL is set. Several processes
 * may run this at once.
 */
export async function runMigrate(options: OutputOptions): Promise<void> {
  const environment = loadEnvironment()
  const databaseUrl = requireDatabaseUrl(environment)
  requireOwnSessions(await inspectDatabase(databaseUrl, 'DATABASE_URL'))
  await refuseReplica(databaseUrl)
  const db = connect(databaseUrl, { name: 'loan-activity migrate', max: 2 })
  try {
    const ran = await migrate(db, () => {
      console.error(
        'waiting for a session that reads a table which the migration changes; see pg_stat_activity',
      )
    })
    if (environment.REDIS_URL === undefined) await prepareQueue(db, databaseUrl)
    print(options, { ran }, `the schema is up to date${ran.length === 0 ? '' : `: ran ${ran.join(', ')}`}`)
  } finally {
    await db.destroy()
  }
}

/** A writing session would wait for a primary instead. */
async function refuseReplica(databaseUrl: string): Promise<void> {
  const db = connect(databaseUrl, { name: 'loan-activity migrate', max: 1, session: ANYWHERE })
  try {
    await requireWrites(db)
  } finally {
    await db.destroy()
  }
}
