import type { Server } from 'node:http'
import { loadEnvironment, loadWebhooks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect } from '../../shared/db/connect.ts'
import { inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { messageOf } from '../../shared/errors.ts'
import { createLogger, logConsole } from '../../shared/log.ts'
import { createRegistry } from '../../shared/metrics.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { Repeats } from '../../shared/repeats.ts'
import { openQueueBackend } from '../open-queue-backend.ts'
import { serveTelemetry } from '../serve-telemetry.ts'
import { newWebhookHealth, readinessOf } from './health.ts'
import { addWebhookMetrics } from './metrics.ts'
import { askDatabase, getWebhookFigures } from './outbox.store.ts'
import { runDueSoon } from './run-due-soon.ts'
import { runWebhook } from './run-webhook.ts'

const HELP = `Usage: npm run webhooks

Sends changes of the history, and actions that end soon, to the receivers of WEBHOOKS_FILE, signed.

Environment: DATABASE_URL and WEBHOOKS_FILE are needed; WEBHOOKS_PORT, INDEXER_HOST, REDIS_URL
and LOG_LEVEL are described in docs/configuration.md. Any number of copies may run. Stops on SIGINT or SIGTERM. Exit codes: 0 stopped, 1 failed,
2 configuration.`

/** The statements of all webhooks share them: each lasts milliseconds. */
const CONNECTIONS = 4

await runProgram('webhooks', HELP, async () => {
  const environment = loadEnvironment()
  const databaseUrl = requireDatabaseUrl(environment)
  const webhooks = loadWebhooks(environment.WEBHOOKS_FILE)
  const log = createLogger('webhooks', environment.LOG_LEVEL)
  logConsole(log)
  const stopping = new AbortController()
  onStopRequest((reason) => {
    log.info({ reason }, 'stopping')
    stopping.abort()
  })
  requireOwnSessions(await inspectDatabase(databaseUrl, 'DATABASE_URL'))
  const errors = new Repeats({ write: (line) => log.warn(line) })
  const onError = (error: Error): void => errors.note(messageOf(error))
  const db = connect(databaseUrl, { name: 'loan-activity webhooks', max: CONNECTIONS, onError })
  const backend = openQueueBackend({ redisUrl: environment.REDIS_URL, databaseUrl }, onError)
  let telemetry: Server | undefined
  try {
    await requireKnownSchema(db)
    for (const warning of await backend.check()) log.warn(warning)
    const names = webhooks.map(({ name }) => name)
    const health = names.map(newWebhookHealth)
    const metrics = createRegistry('webhooks')
    addWebhookMetrics(metrics, health, () => getWebhookFigures(db, names))
    const { INDEXER_HOST: host, WEBHOOKS_PORT: port } = environment
    if (port !== undefined) {
      const ask = (): Promise<unknown> => Promise.all([askDatabase(db), backend.ask()])
      const readiness = (): ReturnType<typeof readinessOf> => readinessOf(health, ask)
      telemetry = await serveTelemetry({ host, port }, { metrics, readiness, portVariable: 'WEBHOOKS_PORT' })
    }
    log.info({ webhooks: names, ...(port !== undefined && { port }) }, 'started')
    const { signal } = stopping
    await Promise.all([
      ...webhooks.map((webhook, index) =>
        runWebhook({ webhook, db, backend, log, signal, health: health[index] }),
      ),
      runDueSoon({ webhooks, db, databaseUrl, log, signal }),
    ])
  } finally {
    telemetry?.closeAllConnections()
    telemetry?.close()
    backend.close()
    await db.destroy()
  }
})
