import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { startPostgres as launchPostgres } from '../../devnet/postgres/server.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { connect } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { freePort } from './free-port.ts'
import type { Services } from './services.ts'

const TEMPLATE = 'loan_activity_template'
const PASSWORD = 'password'

interface Started<T> {
  value: T
  stop: () => Promise<void>
}

/** Starts the named services ('postgres', 'redis'); when one fails, the started ones are stopped again. */
export async function start(names: string[]): Promise<{ services: Services; stop: () => Promise<void> }> {
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(stops.map((one) => one()))
  }
  const services: Services = { postgresUrl: '', template: TEMPLATE, redisUrl: null }
  try {
    if (names.includes('postgres')) {
      const postgres = await startPostgres()
      stops.push(postgres.stop)
      services.postgresUrl = postgres.value
      await makeTemplate(postgres.value)
    }
    if (names.includes('redis') && hasRedisServer()) {
      const redis = await startRedis()
      stops.push(redis.stop)
      services.redisUrl = redis.value
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { services, stop }
}

async function startPostgres(): Promise<Started<string>> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-test-postgres-'))
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const server = await launchPostgres({
      dataDir: join(folder, 'data'),
      port,
      password: PASSWORD,
      settings: { max_connections: '300', fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
      onLog: () => undefined,
    })
    const stop = async (): Promise<void> => {
      await server.stop()
      await removeFolder()
    }
    return { value: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}`, stop }
  } catch (error) {
    await removeFolder()
    throw error
  }
}

/** Migrates the database that every test clones, queue included, because once costs less than for each test. */
async function makeTemplate(url: string): Promise<void> {
  const admin = connect(`${url}/postgres`, { name: 'test template', max: 1 })
  await sql`create database ${sql.id(TEMPLATE)}`.execute(admin)
  await admin.destroy()
  const template = connect(`${url}/${TEMPLATE}`, { name: 'test template', max: 1 })
  await migrate(template)
  await prepareQueue(template, `${url}/${TEMPLATE}`)
  await template.destroy()
}

export function hasRedisServer(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function startRedis(): Promise<Started<string>> {
  const port = await freePort()
  const dir = await mkdtemp(join(tmpdir(), 'loan-activity-test-redis-'))
  const child = spawn(
    'redis-server',
    ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'].concat([
      '--maxmemory-policy',
      'noeviction',
      '--databases',
      '10000',
    ]),
    { stdio: 'ignore' },
  )
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await answers(port)
  } catch (error) {
    await stop()
    throw error
  }
  return { value: `redis://127.0.0.1:${port}`, stop }
}

/** Waits at most five seconds until a local port has a listener. */
async function answers(port: number): Promise<void> {
  const until = Date.now() + 5000
  while (!(await listens(port))) {
    if (Date.now() > until) throw new Error(`nothing listens on port ${port}`)
    await delay(20)
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const end = (open: boolean) => (): void => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', end(true))
    socket.once('error', end(false))
  })
}
