import { loadEnvironment, loadWebhooks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect } from '../../shared/db/connect.ts'
import { inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { messageOf } from '../../shared/errors.ts'
import { createLogger } from '../../shared/log.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { Repeats } from '../../shared/repeats.ts'
import { openQueueBackend } from '../open-queue-backend.ts'
import { runDueSoon } from './run-due-soon.ts'
import { runWebhook } from './run-webhook.ts'

const HELP = `Usage: npm run webhooks

Sends changes of the history, and actions that end soon, to the receivers of WEBHOOKS_FILE, signed.

Environment: DATABASE_URL and WEBHOOKS_FILE are needed; REDIS_URL and LOG_LEVEL are described in
docs/configuration.md. Any number of copies may run. Stops on SIGINT or SIGTERM. Exit codes: 0 stopped, 1 failed,
2 configuration.`

/** The statements of all webhooks share them: each lasts milliseconds. */
const CONNECTIONS = 4

await runProgram('webhooks', HELP, async () => {
  const environment = loadEnvironment()
  const databaseUrl = requireDatabaseUrl(environment)
  const webhooks = loadWebhooks(environment.WEBHOOKS_FILE)
  const log = createLogger('webhooks', environment.LOG_LEVEL)
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
  try {
    await requireKnownSchema(db)
    for (const warning of await backend.check()) log.warn(warning)
    log.info({ webhooks: webhooks.map(({ name }) => name) }, 'started')
    const { signal } = stopping
    await Promise.all([
      ...webhooks.map((webhook) => runWebhook({ webhook, db, backend, log, signal })),
      runDueSoon({ webhooks, db, databaseUrl, log, signal }),
    ])
  } finally {
    backend.close()
    await db.destroy()
  }
})
