import type { FastifyInstance } from 'fastify'
import { loadEnvironment, requireDatabaseUrl, type Environment } from '../shared/config/config.ts'
import { requireKnownSchema } from '../shared/db/migrate.ts'
import { ConfigError, messageOf } from '../shared/errors.ts'
import { listenFailure } from '../shared/listen-failure.ts'
import { createLogger } from '../shared/log.ts'
import { describeFailure, onStopRequest, runProgram } from '../shared/program.ts'
import { buildApp } from './app.ts'
import { openReadDatabase, type ReadDatabase } from './queries/read-database.ts'
import { packageVersion } from './version.ts'

const HELP = `Usage: npm run api

Answers loan activity over HTTP from Postgres alone; any number of copies may run.

Environment: DATABASE_URL or READ_DATABASE_URL is needed; API_HOST, API_PORT and LOG_LEVEL are described in the
README. Stops on SIGINT or SIGTERM, after answering what was asked. Exit codes: 0 stopped, 1 failed, 2 configuration.`

/** Longer than any statement may take: who has not got an answer by then has stopped listening. */
const LAST_ANSWERS_MS = 5000

await runProgram('api', HELP, async () => {
  const environment = loadEnvironment()
  const url = environment.READ_DATABASE_URL ?? requireDatabaseUrl(environment)
  const log = createLogger('api', environment.LOG_LEVEL)
  const stopRequested = new Promise<string>((resolve) => onStopRequest(resolve))
  const database = openReadDatabase(url, {
    onError: (error) => log.warn({ error: messageOf(error) }, 'lost an idle database connection'),
  })
  try {
    await checkSchema(database, environment)
    const app = await buildApp({ database, log, version: packageVersion() })
    await listen(app, environment)
    log.info({ reason: await stopRequested }, 'stopping')
    await closeWithin(app, LAST_ANSWERS_MS)
  } finally {
    await database.close()
  }
})

async function checkSchema(database: ReadDatabase, environment: Environment): Promise<void> {
  try {
    await requireKnownSchema(database.db)
  } catch (error) {
    if (error instanceof ConfigError || environment.READ_DATABASE_URL === undefined) throw error
    throw new Error(describeFailure(error).replace(/^DATABASE_URL/, 'READ_DATABASE_URL'), { cause: error })
  }
}

async function listen(app: FastifyInstance, { API_HOST, API_PORT }: Environment): Promise<void> {
  try {
    await app.listen({ host: API_HOST, port: API_PORT })
  } catch (error) {
    throw listenFailure({ host: 'API_HOST', port: 'API_PORT' }, { host: API_HOST, port: API_PORT }, error)
  }
}

/**
 * Takes no new connection, answers what was asked, then leaves. A kept-alive connection is closed once its answer is
 * out, and at last also one that somebody holds open.
 */
async function closeWithin(app: FastifyInstance, milliseconds: number): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 20)
  const last = setTimeout(() => app.server.closeAllConnections(), milliseconds)
  await app.close()
  clearInterval(idle)
  clearTimeout(last)
}
