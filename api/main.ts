import type { FastifyInstance } from 'fastify'
import { loadEnvironment, requireDatabaseUrl, type Environment } from '../shared/config/config.ts'
import { inspectDatabase, poolSize } from '../shared/db/inspect.ts'
import { requireKnownSchema } from '../shared/db/migrate.ts'
import { ConfigError, messageOf } from '../shared/errors.ts'
import { listenFailure } from '../shared/listen-failure.ts'
import { createLogger, logConsole, type Logger } from '../shared/log.ts'
import { describeFailure, onStopRequest, runProgram } from '../shared/program.ts'
import { buildApp } from './app.ts'
import { startMetricsServer } from './metrics-server.ts'
import { createApiMetrics } from './plugins/metrics.ts'
import { CONNECTIONS, openReadDatabase, type ReadDatabase } from './queries/read-database.ts'
import { Repeats } from '../shared/repeats.ts'
import { packageVersion } from '../shared/version.ts'

const HELP = `Usage: npm run api

Answers loan activity over HTTP from Postgres alone; any number of copies may run.

Environment: DATABASE_URL or READ_DATABASE_URL is needed; API_HOST, API_PORT, API_METRICS_PORT, API_CORS_ORIGINS,
API_RATE_LIMIT, API_TRUST_PROXY, REDIS_URL and LOG_LEVEL are described in docs/configuration.md. Stops on SIGINT or SIGTERM: /readyz
answers 503, then connections are closed once answered; the same signal again ends it at once. Exit codes: 0 stopped,
1 failed, 2 configuration.`

/** Connections that may arrive during one turn of the event loop; the system's own limit is often 4,096. */
const MOST_NEW_CONNECTIONS = 4096

await runProgram('api', HELP, async () => {
  const environment = loadEnvironment()
  const url = environment.READ_DATABASE_URL ?? requireDatabaseUrl(environment)
  const log = createLogger('api', environment.LOG_LEVEL)
  logConsole(log)
  const stopRequested = new Promise<string>((resolve) => onStopRequest(resolve))
  const connection = await checkConnection(url, environment)
  const losses = new Repeats({ write: (line) => log.warn(line) })
  const database = openReadDatabase(url, {
    ...connection,
    onError: (error) => losses.note(`lost an idle database connection: ${messageOf(error)}`),
  })
  try {
    await checkSchema(database, environment)
    const { API_HOST: host, API_METRICS_PORT: metricsPort } = environment
    const metrics = metricsPort === undefined ? undefined : createApiMetrics(database)
    const app = await buildApp({
      ...{ database, log, version: packageVersion(), settings: environment },
      ...(metrics === undefined ? {} : { metrics }),
    })
    const metricsServer =
      metrics && (await startMetricsServer({ host, port: metricsPort ?? 0 }, metrics.registry))
    await listen(app, environment)
    if (metricsServer !== undefined) log.info({ address: metricsServer.address() }, 'metrics are served')
    connection.tell(log)
    log.info({ reason: await stopRequested }, 'stopping')
    await app.drain()
    metricsServer?.closeAllConnections()
    metricsServer?.close()
  } finally {
    await database.close()
  }
})

async function checkSchema(database: ReadDatabase, environment: Environment): Promise<void> {
  await naming(environment, () => requireKnownSchema(database.db))
}

/**
 * Checks how the API connects to the database. Throws a ConfigError where it cannot. The returned `tell` logs the
 * figures once the program has started.
 */
async function checkConnection(
  url: string,
  environment: Environment,
): Promise<{ connections: number; sharesSessions: boolean; tell: (log: Logger) => void }> {
  const variable = environment.READ_DATABASE_URL === undefined ? 'DATABASE_URL' : 'READ_DATABASE_URL'
  const facts = await naming(environment, () => inspectDatabase(url, variable))
  const { limit, limitOf, free, sharesSessions } = facts
  const connections = poolSize(facts, { variable, wanted: CONNECTIONS, least: 1, others: 0 })
  const tell = (log: Logger): void => {
    log.info({ connections, limit, limitOf, free, sharesSessions }, 'database connections, at most')
    if (free < connections)
      log.warn(`${limitOf} has ${free} of ${limit} connections free; the API takes up to ${connections}`)
  }
  return { connections, sharesSessions, tell }
}

/** Names the variable that configures the database in failures. */
async function naming<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigError || environment.READ_DATABASE_URL === undefined) throw error
    throw new Error(describeFailure(error, 'READ_DATABASE_URL'), { cause: error })
  }
}

async function listen(app: FastifyInstance, { API_HOST, API_PORT }: Environment): Promise<void> {
  try {
    await app.listen({ host: API_HOST, port: API_PORT, backlog: MOST_NEW_CONNECTIONS })
  } catch (error) {
    throw listenFailure({ host: 'API_HOST', port: 'API_PORT' }, { host: API_HOST, port: API_PORT }, error)
  }
}
