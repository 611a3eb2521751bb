import type { Server } from 'node:http'
import pTimeout from 'p-timeout'
import { loadEnvironment, loadNetworks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { filecoinNetworkKey } from '../../shared/config/networks.ts'
import { connect } from '../../shared/db/connect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { listenFailure } from '../../shared/listen-failure.ts'
import { createLogger, logConsole } from '../../shared/log.ts'
import { createRegistry } from '../../shared/metrics.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { Repeats } from '../../shared/repeats.ts'
import { getLastPosition } from '../event-log/read-log.ts'
import { examineHandedIn } from '../ingest/ingest-voucher.ts'
import { payloadDigest } from '../ingest/storable-json.ts'
import { openQueueBackend } from '../open-queue-backend.ts'
import { addVoucher, openVoucherQueue } from '../queue/voucher-queue.ts'
import { serveTelemetry, type Readiness } from '../serve-telemetry.ts'
import { buildIntake } from './intake-app.ts'
import { addIntakeMetrics } from './metrics.ts'

const HELP = `Usage: npm run intake

Takes signed vouchers and statements over HTTP, verifies them and adds them to the queue.

Environment: DATABASE_URL, NETWORKS_FILE and INTAKE_PORT are needed; REDIS_URL, API_HOST, API_CORS_ORIGINS,
API_TRUST_PROXY, INTAKE_METRICS_PORT, INDEXER_HOST and LOG_LEVEL are described in docs/configuration.md. Stops on SIGINT or SIGTERM. Exit codes: 0 stopped,
1 failed, 2 configuration.`

const READY_WITHIN_MS = 2_000
/** One for each signature that is verified at once, and one for the readiness. */
const CONNECTIONS = 3

await runProgram('intake', HELP, async () => {
  const environment = loadEnvironment()
  const { API_HOST: host, INTAKE_PORT: port, LOG_LEVEL } = environment
  if (port === undefined) throw new ConfigError('INTAKE_PORT is not set: give the port on which it listens')
  const databaseUrl = requireDatabaseUrl(environment)
  const networks = loadNetworks(environment.NETWORKS_FILE).filecoin.map(filecoinNetworkKey)
  if (networks.length === 0) throw new ConfigError('NETWORKS_FILE names no Filecoin network')
  const log = createLogger('intake', LOG_LEVEL)
  logConsole(log)
  const stopRequested = new Promise<string>((resolve) => onStopRequest(resolve))
  const errors = new Repeats({ write: (line) => log.warn(line) })
  const onError = (error: Error): void => errors.note(messageOf(error))
  const db = connect(databaseUrl, { name: 'loan-activity intake', max: CONNECTIONS, onError })
  const backend = openQueueBackend({ redisUrl: environment.REDIS_URL, databaseUrl }, onError)
  const queue = openVoucherQueue(backend)
  let telemetry: Server | undefined
  try {
    await requireKnownSchema(db)
    const registry = createRegistry('intake')
    const askQueue = (): Promise<unknown> => queue.getJobCounts('waiting')
    const metrics = addIntakeMetrics(registry, askQueue)
    const check = async (): Promise<void> => {
      await getLastPosition(db)
      await askQueue()
    }
    const app = await buildIntake({
      networks,
      examine: (network, item) => examineHandedIn(db, network, item),
      enqueue: (network, item) => {
        const data = { network, ...item }
        return addVoucher(queue, data, payloadDigest(data))
      },
      ...{ check, settings: environment, log, metrics },
    })
    const { INDEXER_HOST, INTAKE_METRICS_PORT: metricsPort } = environment
    if (metricsPort !== undefined) {
      const readiness = (): Promise<Readiness> => readinessOf(check)
      const address = { host: INDEXER_HOST, port: metricsPort }
      const what = { metrics: registry, readiness, portVariable: 'INTAKE_METRICS_PORT' }
      telemetry = await serveTelemetry(address, what)
    }
    await app.listen({ host, port }).catch((error: unknown) => {
      throw listenFailure({ host: 'API_HOST', port: 'INTAKE_PORT' }, { host, port }, error)
    })
    log.info({ reason: await stopRequested }, 'stopping')
    await app.close()
  } finally {
    telemetry?.closeAllConnections()
    telemetry?.close()
    await queue.close()
    backend.close()
    await db.destroy()
  }
})

async function readinessOf(check: () => Promise<void>): Promise<Readiness> {
  const problem = await pTimeout(check(), { milliseconds: READY_WITHIN_MS }).then(() => null, messageOf)
  return { isReady: problem === null, payload: { problem } }
}
