import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadEnvironment, loadNetworks, type Environment } from '../../shared/config/config.ts'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { runProgram } from '../../shared/program.ts'
import { ChildOutput } from './child-output.ts'
import { ChildRecords } from './child-records.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { Family } from './family.ts'
import { localUrl } from './http-get.ts'
import { claimListenPort } from './listen-ports.ts'
import { recall } from './memory.ts'
import { firstRecord, showProgress } from './progress.ts'
import { Screen } from './screen.ts'
import { partsOf, startService, type ServicePlan } from './service.ts'
import { writeServiceEnv } from './service-env.ts'
import { stopRequest } from './stop-request.ts'

const HELP = `Usage: npm start

The whole service on this machine: Postgres, a devnet on which loans are played, migrations, indexer, API and intake.
What DATABASE_URL, REDIS_URL or NETWORKS_FILE configure is used instead of the embedded part. What dies is started
again. Ctrl-C stops everything it started; a second Ctrl-C kills it at once.

Environment (all optional; more in docs/configuration.md):
  API_PORT, API_HOST          where the API listens (3000, 127.0.0.1)
  API_METRICS_PORT            the API's metrics, on API_HOST (3002, or a free one)
  INDEXER_PORT, INDEXER_HOST  the indexer's health and metrics (3001, 127.0.0.1)
  INTAKE_PORT                 where signed vouchers may be handed in (3003, or a free one)
  DATA_DIR                    Postgres, devnet and logs (.data); delete it to begin anew
  LOG_LEVEL                   of the files in DATA_DIR/logs (info)

Exit codes: 0 stopped, 1 failed (a port in use, a database away), 2 configuration.`

/** Milliseconds for which processes of the last, killed supervisor may still hold a port. */
const FORMER_PORTS_MS = 5000

await runProgram('start', HELP, async () => {
  const startedAt = performance.now()
  const environment = loadEnvironment()
  if (environment.NETWORKS_FILE !== undefined) loadNetworks(environment.NETWORKS_FILE)
  const dataDir = makeDataDir(environment.DATA_DIR)
  const lock = lockDataDir(dataDir)
  let family: Family | undefined
  const leaveAtOnce = (): never => {
    family?.kill()
    lock.release()
    process.exit(130)
  }
  const signal = stopRequest(leaveAtOnce)
  try {
    const records = new ChildRecords(dataDir)
    await records.awaitFormer()
    const screen = new Screen()
    const tell = (text: string): void => screen.line(text)
    const plan = await makePlan(environment, dataDir, lock.takenOver ? FORMER_PORTS_MS : 0, tell)
    family = new Family(records, new ChildOutput(dataDir, tell), tell)
    await run(plan, family, screen, signal, startedAt)
  } finally {
    lock.release()
  }
})

async function makePlan(
  environment: Environment,
  dataDir: string,
  waitMs: number,
  onStep: (text: string) => void,
): Promise<ServicePlan> {
  const { API_HOST, API_PORT, INDEXER_HOST, INDEXER_PORT } = environment
  if (API_PORT === INDEXER_PORT && API_PORT !== 0) {
    throw new ConfigError(`API_PORT and INDEXER_PORT are both ${API_PORT}: give them different ports`)
  }
  const apiPort = await claimListenPort(
    { host: 'API_HOST', port: 'API_PORT' },
    { host: API_HOST, port: API_PORT },
    waitMs,
  )
  const indexerPort = await claimListenPort(
    { host: 'INDEXER_HOST', port: 'INDEXER_PORT' },
    { host: INDEXER_HOST, port: INDEXER_PORT },
    waitMs,
  )
  const memory = await recall(dataDir, [apiPort, indexerPort])
  const ownOr = async (port: 'INTAKE_PORT' | 'API_METRICS_PORT', usual: number): Promise<number> => {
    const own = environment[port]
    if (own === undefined) return usual
    return claimListenPort({ host: 'API_HOST', port }, { host: API_HOST, port: own }, waitMs)
  }
  const intakePort = await ownOr('INTAKE_PORT', memory.intakePort)
  const metricsPort = await ownOr('API_METRICS_PORT', memory.metricsPort)
  return { environment, dataDir, apiPort, metricsPort, indexerPort, intakePort, memory, onStep }
}

/** Runs until a stop request, or until a part can never run. No process is left at the end. */
async function run(
  plan: ServicePlan,
  family: Family,
  screen: Screen,
  signal: AbortSignal,
  startedAt: number,
): Promise<void> {
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(1)
  const timed = { ...plan, onStep: (text: string) => screen.line(`${seconds().padStart(5)} s  ${text}`) }
  const forget = writeServiceEnv(plan.dataDir, partsOf(plan).variables)
  const ended = new AbortController()
  const whileRunning = AbortSignal.any([signal, ended.signal])
  const stopped = new Promise<void>((end) => signal.addEventListener('abort', () => end(), { once: true }))
  const working = startService(timed, family).then(async () => {
    await showAddresses(plan, screen, seconds, whileRunning)
    await showProgress(apiUrlOf(plan), screen, whileRunning)
  })
  try {
    if (!signal.aborted) await Promise.race([working, stopped, family.failed])
  } catch (error) {
    // A failure caused by the stop request is none.
    if (!signal.aborted) throw error
  } finally {
    ended.abort()
    screen.endLive()
    if (signal.aborted) screen.line(`stopping (${messageOf(signal.reason)})`)
    await family.stop()
    await working.catch(() => undefined)
    forget()
  }
  screen.line('everything has stopped')
}

function apiUrlOf({ environment, apiPort }: ServicePlan): string {
  return localUrl(environment.API_HOST, apiPort)
}

async function showAddresses(
  plan: ServicePlan,
  screen: Screen,
  seconds: () => string,
  signal: AbortSignal,
): Promise<void> {
  const url = apiUrlOf(plan)
  const loan = await firstRecord(url, signal)
  if (signal.aborted) return
  const first = loan === null ? 'no record yet: the chain has no loans' : 'first record answered'
  screen.line(`${seconds().padStart(5)} s  ${first}

  page     ${url}/
  history  ${url}/api/activity/history/1
  a loan   ${url}${loan ?? '/api/loan/ERC20/1'}
  status   ${url}/api/status
  health   ${url}/readyz
  docs     ${url}/docs

Logs are in ${plan.dataDir}/logs. Ctrl-C stops everything.
`)
}

function makeDataDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true })
  } catch (error) {
    throw new ConfigError(`DATA_DIR ${path} cannot be used: ${messageOf(error)}`)
  }
  return resolve(path)
}
