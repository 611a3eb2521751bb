import { execFileSync } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { startPostgres, type PostgresServer } from '../devnet/postgres/server.ts'
import { prepareQueue } from '../indexer/prepare-queue.store.ts'
import { connect } from '../shared/db/connect.ts'
import { migrate } from '../shared/db/migrate.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { seedRecords } from '../test/helpers/seed-projection.ts'
import { ServerProcess } from '../test/helpers/server-process.ts'
import { pagesPerSecond } from './api-load.ts'
import { limitProcessor } from './limit-processor.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, withApi } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'

export interface ReplicasOptions {
  records: number
  seconds: number
  /** The largest number of replicas. */
  replicas: number
  /** Each replica's share of one core; 0 sets no limit. */
  share: number
  runs: number
  json: boolean
}

const PASSWORD = 'bench'
const DATABASE = 'service'
const SETTINGS = { shared_buffers: '256MB', max_connections: '60' }

/** Requests a second for any page that the API does not keep, from one API whose sessions HAProxy spreads over replicas. */
export async function benchReplicas(options: ReplicasOptions): Promise<void> {
  buildPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-replicas-'))
  const servers: PostgresServer[] = []
  const limits: { lift: () => void }[] = []
  try {
    const primary = join(folder, 'primary')
    const primaryPort = await freePort()
    await makePrimary(primary, primaryPort, options.records)
    const ports: number[] = []
    for (let index = 0; index < options.replicas; index += 1) {
      const dataDir = join(folder, `replica${index}`)
      await makeReplica(primary, dataDir, primaryPort)
      const port = await freePort()
      servers.push(await launch(dataDir, port))
      const pid = Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
      if (options.share > 0) limits.push(limitProcessor(`bench-replica-${port}`, pid, options.share))
      ports.push(port)
    }
    servers.push(await launch(primary, primaryPort))
    const counts = ports.map((_, index) => index + 1)
    const turns = await runsAfterWarmUp(options.runs, async () => {
      const rates: number[] = []
      for (const count of counts) rates.push(await requestsPerSecond(folder, ports.slice(0, count), options))
      return rates
    })
    const figures = counts.map((count, index) => ({
      replicas: count,
      requestsPerS: spreadOf(turns.map((rates) => rates[index] ?? NaN)),
    }))
    printFigures(options.json, { postgres: SETTINGS }, { ...options, figures }, markdownOf(figures))
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    for (const { lift } of limits) lift()
    await rm(folder, { recursive: true, force: true })
  }
}

async function makePrimary(dataDir: string, port: number, records: number): Promise<void> {
  const server = await launch(dataDir, port)
  try {
    const admin = connect(urlOf(port, 'postgres'), { name: 'bench', max: 1 })
    await sql`create database ${sql.id(DATABASE)}`.execute(admin)
    await admin.destroy()
    const db = connect(urlOf(port), { name: 'bench', max: 2 })
    await migrate(db)
    await prepareQueue(db, urlOf(port))
    await seedRecords(db, records)
    await sql`vacuum analyze`.execute(db)
    await db.destroy()
  } finally {
    await server.stop()
  }
}

/** Copies the stopped primary. */
async function makeReplica(primary: string, dataDir: string, primaryPort: number): Promise<void> {
  execFileSync('cp', ['-a', primary, dataDir])
  execFileSync('cp', ['-a', join(dataDir, 'PG_VERSION'), join(dataDir, 'standby.signal')])
  const source = `host=127.0.0.1 port=${primaryPort} user=postgres password=${PASSWORD}`
  await appendFile(join(dataDir, 'postgresql.conf'), `primary_conninfo = '${source}'\n`)
}

function launch(dataDir: string, port: number): Promise<PostgresServer> {
  return startPostgres({ dataDir, port, password: PASSWORD, settings: SETTINGS, onLog: () => undefined })
}

function urlOf(port: number, database = DATABASE): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`
}

async function requestsPerSecond(
  folder: string,
  ports: readonly number[],
  { records, seconds }: ReplicasOptions,
): Promise<number> {
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, haproxyOver(port, ports))
  const haproxy = new ServerProcess('haproxy', ['-f', file])
  haproxy.start()
  try {
    return await withApi({ databaseUrl: urlOf(port) }, (url) => pagesPerSecond(url, records, seconds), {
      API_RATE_LIMIT: 'off',
    })
  } finally {
    await haproxy.kill()
  }
}

/** One API's sessions go to all replicas in turn, unlike in deploy/haproxy-postgres.cfg, where each API stays on one. */
function haproxyOver(port: number, replicas: readonly number[]): string {
  return `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
listen replicas
  bind 127.0.0.1:${port}
  balance roundrobin
${replicas.map((replica, index) => `  server pg${index} 127.0.0.1:${replica}`).join('\n')}
`
}

function markdownOf(figures: { replicas: number; requestsPerS: Spread }[]): string {
  const one = figures[0]?.requestsPerS.median ?? NaN
  const rows = figures.map(
    ({ replicas, requestsPerS }) =>
      `| ${replicas} | ${spreadText(requestsPerS, 0)} | ${(requestsPerS.median / one).toFixed(2)} |`,
  )
  return `| replicas | requests/s | / one replica |
|---|---|---|
${rows.join('\n')}`
}
