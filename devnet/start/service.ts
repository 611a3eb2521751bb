import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import type { Environment } from '../../shared/config/config.ts'
import { connect } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Family } from './family.ts'
import { answersOk, localUrl } from './http-get.ts'
import type { Memory } from './memory.ts'

export interface ServicePlan {
  environment: Environment
  dataDir: string
  apiPort: number
  metricsPort: number
  indexerPort: number
  intakePort: number
  /** Ports and password of the embedded parts. */
  memory: Memory
  /** Called as each part begins to work. */
  onStep: (text: string) => void
}

const DATABASE = 'loan_activity'

const PAGE_BUILD = new URL('../../.config/build-page.mjs', import.meta.url)

/** Returns the configured parts, with an embedded one for each that is not configured. */
export function partsOf({ environment, dataDir, memory }: ServicePlan): {
  databaseUrl: string
  networksFile: string
  /** Both, and the queue's address, by variable name. */
  variables: Record<string, string>
} {
  const ownDatabase = `postgres://postgres:${memory.postgresPassword}@127.0.0.1:${memory.postgresPort}/${DATABASE}`
  const databaseUrl = environment.DATABASE_URL ?? ownDatabase
  const networksFile = resolve(environment.NETWORKS_FILE ?? join(dataDir, 'networks.json'))
  const { REDIS_URL } = environment
  return {
    databaseUrl,
    networksFile,
    variables: {
      DATABASE_URL: databaseUrl,
      NETWORKS_FILE: networksFile,
      ...(REDIS_URL === undefined ? {} : { REDIS_URL }),
    },
  }
}

/** The environment of a part. Files with secrets have been read already, and both forms at once are a mistake. */
function environmentOf(plan: ServicePlan, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { variables } = partsOf(plan)
  return { ...process.env, ...variables, DATABASE_URL_FILE: '', REDIS_URL_FILE: '', ...more }
}

/** Starts everything, in parallel where possible; resolves when all parts work. */
export async function startService(plan: ServicePlan, family: Family): Promise<void> {
  // A mistake in the configured database must be reported before anything runs.
  if (plan.environment.DATABASE_URL !== undefined) await migrateDatabase(plan)
  const database =
    plan.environment.DATABASE_URL === undefined ? startDatabase(plan, family) : Promise.resolve()
  const chain = plan.environment.NETWORKS_FILE === undefined ? startDevnet(plan, family) : Promise.resolve()
  await Promise.all([
    Promise.all([database, buildPage(plan)]).then(() => startApi(plan, family)),
    Promise.all([database, chain]).then(async () => {
      await Promise.all([startIndexer(plan, family), hasIntake(plan) ? startIntake(plan, family) : undefined])
    }),
  ])
}

/** Networks of a file of one's own need no intake unless its port is given. */
function hasIntake({ environment }: Pick<ServicePlan, 'environment'>): boolean {
  return environment.NETWORKS_FILE === undefined || environment.INTAKE_PORT !== undefined
}

async function migrateDatabase(plan: ServicePlan): Promise<void> {
  const db = connect(partsOf(plan).databaseUrl, { name: 'loan-activity migrate', max: 1 })
  try {
    const ran = await migrate(db)
    if (plan.environment.REDIS_URL === undefined) await prepareQueue(db, partsOf(plan).databaseUrl)
    plan.onStep(`schema     up to date${ran.length === 0 ? '' : ` (ran ${ran.join(', ')})`}`)
  } finally {
    await db.destroy()
  }
}

async function startDatabase(plan: ServicePlan, family: Family): Promise<void> {
  const { dataDir, memory } = plan
  await family.start({
    name: 'postgres',
    program: 'devnet/postgres/main.ts',
    args: [join(dataDir, 'postgres'), `${memory.postgresPort}`, DATABASE],
    env: { ...process.env, POSTGRES_PASSWORD: memory.postgresPassword },
    ready: 'message',
    graceMs: 10_000,
  })
  plan.onStep(`postgres   127.0.0.1:${memory.postgresPort}, data in ${join(dataDir, 'postgres')}`)
  await migrateDatabase(plan)
}

async function startDevnet(plan: ServicePlan, family: Family): Promise<void> {
  const { dataDir, memory } = plan
  const { networksFile } = partsOf(plan)
  await family.start({
    name: 'devnet',
    program: 'devnet/main.ts',
    args: [
      ...['--port', `${memory.devnetPort}`, '--filecoin-port', `${memory.filecoinPort}`],
      ...['--data-dir', join(dataDir, 'devnet'), '--networks-file', networksFile, '--hand-in'],
    ],
    env: environmentOf(plan),
    ready: 'message',
    graceMs: 15_000,
  })
  const at = 'http://127.0.0.1'
  plan.onStep(`devnet     ${at}:${memory.devnetPort}, chain 31337, contracts in ${networksFile}`)
  plan.onStep(`filecoin   ${at}:${memory.filecoinPort}/rpc/v1, a stand-in for a Lotus node`)
}

/** Builds the page unless the build is of the present sources. Without it the API still answers. */
async function buildPage({ onStep }: ServicePlan): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, [fileURLToPath(PAGE_BUILD)])
  } catch (error) {
    onStep(`page       could not be built, so / answers 404: ${messageOf(error)}`)
  }
}

async function startApi(plan: ServicePlan, family: Family): Promise<void> {
  const { environment, apiPort, metricsPort } = plan
  const url = localUrl(environment.API_HOST, apiPort)
  await family.start({
    name: 'api',
    program: 'api/main.ts',
    env: environmentOf(plan, { API_PORT: `${apiPort}`, API_METRICS_PORT: `${metricsPort}` }),
    ready: () => answersOk(`${url}/healthz`),
  })
  plan.onStep(`api        ${url}, ${localUrl(environment.API_HOST, metricsPort)}/metrics`)
}

async function startIntake(plan: ServicePlan, family: Family): Promise<void> {
  const { environment, intakePort } = plan
  const url = localUrl(environment.API_HOST, intakePort)
  await family.start({
    name: 'intake',
    program: 'indexer/intake/main.ts',
    env: environmentOf(plan, { INTAKE_PORT: `${intakePort}` }),
    ready: () => answersOk(`${url}/healthz`),
  })
  plan.onStep(`intake     ${url}/vouchers`)
}

async function startIndexer(plan: ServicePlan, family: Family): Promise<void> {
  const { environment, indexerPort } = plan
  const url = localUrl(environment.INDEXER_HOST, indexerPort)
  await family.start({
    name: 'indexer',
    program: 'indexer/main.ts',
    env: environmentOf(plan, { INDEXER_PORT: `${indexerPort}` }),
    ready: () => answersOk(`${url}/healthz`),
  })
  plan.onStep(`indexer    ${url}/metrics`)
}
