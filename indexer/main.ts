import { setTimeout as delay } from 'node:timers/promises'
import {
  loadEnvironment,
  loadNetworks,
  requireDatabaseUrl,
  type Environment,
} from '../shared/config/config.ts'
import { checkConnections } from './check-connections.ts'
import { filecoinNetworkKey, type Networks } from '../shared/config/networks.ts'
import { connect } from '../shared/db/connect.ts'
import { requireKnownSchema } from '../shared/db/migrate.ts'
import type { Role } from '../shared/indexing-health.ts'
import { ConfigError, messageOf, PermanentError } from '../shared/errors.ts'
import { createLogger, logConsole, type Logger } from '../shared/log.ts'
import { createRegistry } from '../shared/metrics.ts'
import { onStopRequest, runProgram } from '../shared/program.ts'
import { Repeats } from '../shared/repeats.ts'
import { untilAborted } from '../shared/async/abort.ts'
import { getWatched } from './event-log/chain-position.ts'
import { forgetOtherNetworks, getFigures } from './event-log/network-status.ts'
import { countDeadLetters } from './ingest/dead-letters.store.ts'
import { fillGaps } from './fill-gaps.ts'
import { keepCertificates } from './keep-certificates.ts'
import { keepStatus } from './keep-status.ts'
import { LeaseSpread } from './lease-spread.ts'
import { addMeters } from './meters.ts'
import { addIndexerMetrics } from './metrics.ts'
import { newNetworkHealth, type NetworkHealth } from './network-state.ts'
import { openQueueBackend } from './open-queue-backend.ts'
import { openQueuePage } from './open-queue-page.ts'
import { QUEUE_PAGE_PATH } from './queue-page/parts.ts'
import type { NetworkRun } from './network-run.ts'
import { ByteBudget } from './queue/byte-budget.ts'
import { runNetwork } from './run-network.ts'
import { runTokens } from './run-tokens.ts'
import { runNodeVouchers, runVouchers } from './run-vouchers.ts'
import { FIRST_WIDTH } from './sources/block-ranges.ts'
import { StateProver } from './state-proof/state-prover.ts'
import { Wakeup } from '../shared/async/wakeup.ts'
import { startTelemetry } from './telemetry-server.ts'
import { watchQueue } from './watch-queue.ts'
import { openNetworks, refuseCollisions, type WatchedNetwork } from './watched-networks.ts'

const HELP = `Usage: npm run indexer

Reads the configured networks and writes their loan events into Postgres.

Environment: DATABASE_URL and NETWORKS_FILE are needed. INDEXER_ROLE says what this process does: reader (chains into
the queue), writer (from the queue into Postgres; it needs no node) or all. REDIS_URL, INDEXER_HOST, INDEXER_PORT,
QUEUE_PAGE and LOG_LEVEL are described in docs/configuration.md. Stops on SIGINT or SIGTERM. Exit codes: 0 stopped, 1 failed, 2 configuration.`

const ROLES_OF = {
  all: ['reader', 'writer'],
  reader: ['reader'],
  writer: ['writer'],
} as const satisfies Record<Environment['INDEXER_ROLE'], readonly Role[]>

await runProgram('indexer', HELP, async () => {
  const environment = loadEnvironment()
  const databaseUrl = requireDatabaseUrl(environment)
  const configured = loadNetworks(environment.NETWORKS_FILE)
  const log = createLogger('indexer', environment.LOG_LEVEL)
  logConsole(log)
  const stopping = new AbortController()
  onStopRequest((reason) => {
    log.info({ reason }, 'stopping')
    stopping.abort(reason)
  })

  const roles: readonly Role[] = ROLES_OF[environment.INDEXER_ROLE]
  const connections = await checkConnections(databaseUrl, configured, environment, roles)
  const databaseErrors = new Repeats({ write: (line) => log.warn(line) })
  const db = connect(databaseUrl, {
    name: 'loan-activity indexer',
    max: connections.pool,
    onError: (error) => databaseErrors.note(`lost an idle database connection: ${messageOf(error)}`),
  })
  const metrics = createRegistry('indexer')
  const meters = addMeters(metrics)
  const report = (network: string, message: string): void => log.warn({ network }, message)
  const networks = openNetworks(configured, report, meters.endpointWatchOf)
  try {
    await requireKnownSchema(db)
    refuseCollisions(networks, await getWatched(db))
    if (networks.length === 0) throw new ConfigError('NETWORKS_FILE names no network')
    if (roles.includes('reader')) await checkNodes(networks, log)
    await forgetOtherNetworks(
      db,
      networks.map(({ network }) => network),
    )
    const changed = new Wakeup()
    const healthOf = (watched: WatchedNetwork): NetworkHealth =>
      newNetworkHealth({ ...watched, roles }, () => changed.raise(), log, meters.stepMeterOf(watched.network))
    const health = networks.map(healthOf)
    // The watch says when the queue is back.
    const queueErrors = new Repeats({
      write: (line, kind) => {
        if (kind !== 'end') log.warn(line)
      },
    })
    const onQueueError = (error: Error): void => queueErrors.note(`queue connection: ${messageOf(error)}`)
    const backend = openQueueBackend({ redisUrl: environment.REDIS_URL, databaseUrl }, onQueueError)
    for (const warning of await backend.check()) log.warn(warning)
    const names = networks.map(({ network }) => network)
    const queuePage = openQueuePage(environment, { databaseUrl, db, networks: names, log }, onQueueError)
    const telemetry = await startTelemetry(
      { host: environment.INDEXER_HOST, port: environment.INDEXER_PORT },
      health,
      metrics,
      queuePage && { path: QUEUE_PAGE_PATH, handle: queuePage.handle },
    )
    log.info(
      {
        ...{ queue: backend.kind, port: environment.INDEXER_PORT, role: environment.INDEXER_ROLE },
        networks: health.map((n) => n.network),
      },
      'started',
    )
    connections.tell(log)
    const budget = new ByteBudget()
    const firstWidth = Math.max(1, Math.floor(FIRST_WIDTH / networks.length))
    const status = keepStatus(db, health, { changed, signal: stopping.signal, log })
    const queueWatch = watchQueue(backend, db, health, {
      ...{ signal: stopping.signal, log },
      onBack: () => queueErrors.over(),
    })
    addIndexerMetrics(metrics, {
      networks: health,
      readFigures: () => getFigures(db),
      countDeadLetters: () => countDeadLetters(db),
      queue: { isRedis: backend.kind === 'redis', isUp: () => queueWatch.answersForMs > 0 },
    })
    const spread = new LeaseSpread({ db, databaseUrl, roles, networks: names, signal: stopping.signal })
    const spreading = spread.run()
    try {
      await Promise.all(
        networks.map((watched, index) => {
          const own = health[index] ?? healthOf(watched)
          const shared = { db, spread, backend, queueWatch, log, signal: stopping.signal }
          const run = { ...watched, ...shared, health: own, budget, firstWidth }
          return runOne({ ...run, beside: workBeside(watched, run, configured) })
        }),
      )
      // Every network has stopped for good or was told to: health stays up until the program is told to stop.
      await untilAborted(stopping.signal)
    } finally {
      await Promise.all([status, queueWatch.ended, spreading])
      telemetry.closeAllConnections()
      telemetry.close()
      // A page that waits for a frozen database must not hold up the end.
      await Promise.race([queuePage?.close(), delay(2000, undefined, { ref: false })])
      backend.close()
    }
  } finally {
    await Promise.allSettled(networks.map(({ source }) => source.close()))
    await db.destroy()
  }
})

/** A network's permanent fault stops that network, with its message; the others go on. */
async function runOne(run: Parameters<typeof runNetwork>[0]): Promise<void> {
  try {
    await runNetwork(run)
  } catch (error) {
    for (const role of run.health.roles) run.health.enter(role, 'stopped')
    run.health.fail('stopped', 'stopped', messageOf(error))
    run.spread.withdraw(run.health.network)
    run.log.error({ network: run.health.network }, `stopped: ${messageOf(error)}`)
  }
}

/**
 * Nothing starts when every network is configured wrongly; otherwise a network's fault is its own, and the others go on.
 * A node that cannot be reached now can be later: that is no mistake.
 */
async function checkNodes(networks: WatchedNetwork[], log: Logger): Promise<void> {
  const results = await Promise.allSettled(networks.map(({ source }) => source.check()))
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  )
  const mistakes = failures.filter((failure) => failure instanceof PermanentError)
  if (mistakes.length === networks.length) throw new ConfigError(mistakes.map(messageOf).join('; '))
  for (const failure of failures) {
    if (failure instanceof PermanentError) log.error(messageOf(failure))
    else log.warn(`${messageOf(failure)}: it is tried again until it answers`)
  }
}

/**
 * Vouchers of the queue are taken beside the writer of a Filecoin network. Those of its node's store, and certificates of
 * finality, are read beside its reader. Tokens' symbols are read, and loans proven by contract storage, beside the reader of
 * an EVM network. Gaps are filled beside every reader.
 */
function workBeside(
  watched: WatchedNetwork,
  { health, db, backend, log }: Omit<NetworkRun, 'beside'>,
  configured: Networks,
): NetworkRun['beside'] {
  const { network, handedIn: counts } = health
  const gaps: Work = (signal) => fillGaps({ watched, db, log, signal })
  if (watched.chain === 'evm') {
    const { networkId, source } = watched
    const tokens: Work = (signal) =>
      runTokens({ network, networkId, db, log, signal }, (token) => source.tokenSymbol(token))
    const proofs: Work = (signal) => new StateProver({ ...watched, db, health, log, signal }).run()
    return { reader: together(tokens, gaps, proofs) }
  }
  if (counts === null) return { reader: gaps }
  const networks = configured.filecoin.map(filecoinNetworkKey)
  const run = { network, counts, db, log }
  const nodeVouchers: Work = (signal) =>
    runNodeVouchers({ ...run, signal }, () => watched.source.nodeVouchers())
  const certificates: Work = (signal) => keepCertificates({ health, db, log, signal }, watched.source)
  return {
    reader: together(nodeVouchers, gaps, certificates),
    writer: (signal) => runVouchers({ ...run, networks, backend, signal }),
  }
}

type Work = (signal: AbortSignal) => Promise<void>

function together(...works: Work[]): Work {
  return async (signal) => {
    await Promise.all(works.map((work) => work(signal)))
  }
}
