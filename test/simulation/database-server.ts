import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { startPostgres, type PostgresServer } from '../../devnet/postgres/server.ts'
import type { Random } from '../../devnet/evm/random.ts'
import { connect } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { freePort } from '../helpers/start-services.ts'
import type { Span } from './check-history.ts'

const PASSWORD = 'password'
const DATABASE = 'simulation'

/** A Postgres of the simulation's own, with a migrated database, that is killed and comes back. */
export interface DatabaseServer {
  url: string
  /** When it was away, and since when for the one that goes on; ms since the epoch. */
  readonly away: Span[]
  /** SIGKILL of the server and all its processes; resolves when it answers again. */
  killServer(): Promise<void>
  /** SIGKILL of one client's backend: the server then ends all others, recovers by itself and answers again. */
  killBackend(random: Random): Promise<void>
  /** Ends sessions in order (SIGTERM) whose application name is like this; answers how many. */
  endSessions(like: string): Promise<number>
  stop(): Promise<void>
}

export async function startDatabase(): Promise<DatabaseServer> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-simulation-postgres-'))
  const port = await freePort()
  const base = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}`
  const url = `${base}/${DATABASE}`
  const dataDir = join(folder, 'data')
  const away: Span[] = []
  const launch = (): Promise<PostgresServer> =>
    startPostgres({
      ...{ dataDir, port, password: PASSWORD },
      // What was committed is in the system's memory, which no kill of a process takes away.
      settings: { fsync: 'off', restart_after_crash: 'on' },
      onLog: () => undefined,
    })
  let server = await launch()
  // Nothing is left behind by a simulation that is interrupted.
  const killAtExit = (): void => [postmasterOf(dataDir), ...childrenOf(postmasterOf(dataDir))].forEach(kill)
  process.once('exit', killAtExit)
  await prepare(base, url)

  async function whileAway(mishap: () => Promise<void>): Promise<void> {
    const span: Span = { from: Date.now(), to: Infinity }
    away.push(span)
    await mishap()
    await untilAnswers(url)
    span.to = Date.now()
  }

  return {
    ...{ url, away },
    killServer: () =>
      whileAway(async () => {
        await killAll(dataDir)
        await server.exited
        server = await relaunch(launch)
      }),
    killBackend: (random) =>
      whileAway(async () => {
        const pids = await backends(url)
        if (pids.length > 0) process.kill(random.pick(pids), 'SIGKILL')
        await sleep(100)
      }),
    endSessions: async (like) => {
      const span: Span = { from: Date.now(), to: Date.now() }
      away.push(span)
      const ended = await endSessions(url, like)
      span.to = Date.now()
      return ended
    },
    async stop() {
      await server.stop()
      process.off('exit', killAtExit)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function prepare(base: string, url: string): Promise<void> {
  const admin = connect(`${base}/postgres`, { name: 'simulation admin', max: 1 })
  await sql`create database ${sql.id(DATABASE)}`.execute(admin)
  await admin.destroy()
  const db = connect(url, { name: 'simulation admin', max: 1 })
  await migrate(db)
  await db.destroy()
}

async function endSessions(url: string, like: string): Promise<number> {
  const db = connect(url, { name: 'simulation admin', max: 1 })
  try {
    const { rows } = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = ${DATABASE} and application_name like ${like} and pid <> pg_backend_pid()`.execute(db)
    return rows.length
  } finally {
    await db.destroy()
  }
}

async function backends(url: string): Promise<number[]> {
  const db = connect(url, { name: 'simulation admin', max: 1 })
  try {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity where datname = ${DATABASE} and application_name like 'loan-activity%'`.execute(
      db,
    )
    return rows.map(({ pid }) => pid)
  } finally {
    await db.destroy()
  }
}

async function untilAnswers(url: string): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    const db = connect(url, { name: 'simulation admin', max: 1, onError: () => undefined })
    try {
      await sql`select 1`.execute(db)
      return
    } catch (error) {
      if (failures > 600) throw error
      await sleep(50)
    } finally {
      await db.destroy()
    }
  }
}

/** The server and its children, at once: nobody is left to write into its files when it starts again. */
async function killAll(dataDir: string): Promise<void> {
  const postmaster = postmasterOf(dataDir)
  const children = childrenOf(postmaster)
  for (const pid of [postmaster, ...children]) kill(pid)
  while (children.some(isAlive)) await sleep(20)
}

function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
}

async function relaunch(launch: () => Promise<PostgresServer>): Promise<PostgresServer> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await launch()
    } catch (error) {
      if (failures > 20) throw error
      await sleep(100)
    }
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent)
}

function isAlive(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== undefined && stat.state !== 'Z'
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
