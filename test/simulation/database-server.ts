import { existsSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { startPostgres, type PostgresServer } from '../../devnet/postgres/server.ts'
import type { Random } from '../../devnet/evm/random.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { connect, connectSession } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { freePort } from '../helpers/free-port.ts'
import type { Span } from './check-history.ts'
import { shortened } from './place.ts'
import { childrenOf, isAlive, killRunning, signal } from './process-tree.ts'
import { mountSmallDisk } from './small-disk.ts'
import { createWallClock, type WallClock } from './wall-clock.ts'

const PASSWORD = 'password'
const DATABASE = 'simulation'
/** Several times the data of a simulation, and quickly filled up. */
const DISK_MIB = 384
const MOST_LAST_WORDS = 10
const SETTINGS = {
  // Committed data is in the system's memory, which survives the kill of a process.
  ...{ fsync: 'off', restart_after_crash: 'on' },
  ...{ max_wal_size: '64MB', min_wal_size: '32MB' },
}

/** A Postgres of the simulation's own with a migrated database, which is killed and restarted. */
export interface DatabaseServer {
  url: string
  /** Undefined where clocks cannot step. */
  readonly clock: WallClock | undefined
  /** True when it has a disk that can be filled up. */
  readonly hasSmallDisk: boolean
  /** The last log lines that give a reason why it ended sessions or itself. */
  readonly lastWords: readonly string[]
  /** Times at which it was away; the present one has no end yet. Ms since the epoch. */
  readonly away: Span[]
  /** Kills the server and all its processes (SIGKILL); resolves when it answers again. */
  killServer(): Promise<void>
  /**
   * Kills one client's backend (SIGKILL): the server then ends all others, recovers by itself and answers again.
   * Returns the client and its activity.
   */
  killBackend(random: Random): Promise<string>
  /** Stops the server and all its processes (SIGSTOP) for this long, then continues them (SIGCONT). */
  freeze(ms: number): Promise<void>
  /** Fills the disk for this long. The supervisor restarts the server if that ended it. */
  fillDisk(ms: number): Promise<void>
  /** Ends sessions in order (SIGTERM) whose application name is like this; returns how many. */
  endSessions(like: string): Promise<number>
  stop(): Promise<void>
}

export async function startDatabase({ hasLargeDisk = false } = {}): Promise<DatabaseServer> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-simulation-postgres-'))
  // The server runs under its own account, which must be able to read the clock's file there.
  await chmod(folder, 0o755)
  const port = await freePort()
  const base = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}`
  const url = `${base}/${DATABASE}`
  const disk = hasLargeDisk ? undefined : mountSmallDisk(folder, DISK_MIB)
  const dataDir = join(folder, 'data')
  const clock = createWallClock(folder, 'database')
  const away: Span[] = []
  const lastWords: string[] = []
  let hasEnded = false
  const launch = async (): Promise<PostgresServer> => {
    const launched = await startPostgres({
      ...{ dataDir, port, password: PASSWORD, environment: clock?.environment ?? {} },
      settings: SETTINGS,
      onLog: (line) => {
        if (/ (FATAL|PANIC|LOG): .*(terminat|signal|crash|PANIC)/.test(line)) lastWords.push(line)
        if (lastWords.length > MOST_LAST_WORDS) lastWords.shift()
      },
    })
    hasEnded = false
    void launched.exited.then(() => (hasEnded = true))
    return launched
  }
  // An interrupted simulation must leave nothing behind.
  const killAtExit = (): void => {
    for (const pid of processesOf(dataDir)) signal(pid, 'SIGKILL')
    disk?.unmount()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', killAtExit)
  let server = await launch()
  await prepare(base, url)

  async function whileAway(mishap: () => Promise<void>): Promise<void> {
    const span: Span = { from: Date.now(), to: Infinity }
    away.push(span)
    await mishap()
    await untilAnswers(url, async () => {
      if (hasEnded) server = await relaunch(launch)
    })
    span.to = Date.now()
  }

  return {
    ...{ url, clock, away, lastWords, hasSmallDisk: disk !== undefined },
    killServer: () =>
      whileAway(async () => {
        await killAll(dataDir)
        await server.exited
      }),
    killBackend: async (random) => {
      let place = 'nobody'
      await whileAway(async () => {
        const all = await backends(url)
        if (all.length === 0) return
        const victim = random.pick(all)
        const session = await connectSession(url, 'simulation witness')
        const noticed = new Promise((resolve) => session.once('end', resolve))
        session.on('error', () => undefined)
        if (!(await killRunning(victim.pid))) return session.end()
        place = `${victim.name}: ${victim.isOpen ? shortened(victim.query) : 'no statement'}`
        // The server answers until it has noticed, and then ends every session.
        await noticed
      })
      return place
    },
    freeze: (ms) =>
      whileAway(async () => {
        const pids = processesOf(dataDir)
        for (const pid of pids) signal(pid, 'SIGSTOP')
        await sleep(ms)
        for (const pid of pids) signal(pid, 'SIGCONT')
      }),
    fillDisk: (ms) =>
      whileAway(async () => {
        disk?.fill()
        await sleep(ms)
        disk?.empty()
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
      disk?.unmount()
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
  await prepareQueue(db, url)
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

interface Backend {
  pid: number
  name: string
  query: string
  isOpen: boolean
}

async function backends(url: string): Promise<Backend[]> {
  const db = connect(url, { name: 'simulation admin', max: 1 })
  try {
    const { rows } = await sql<Backend>`
      select pid, application_name as name, query, xact_start is not null as "isOpen" from pg_stat_activity
      where datname = ${DATABASE} and application_name like 'loan-activity%'`.execute(db)
    return rows
  } finally {
    await db.destroy()
  }
}

/** `restart` is the supervisor's task: it starts the server again after its end. */
async function untilAnswers(url: string, restart: () => Promise<void>): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    await restart()
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

/** Kills the server and its children at once, so that none writes into its files when it starts again. */
async function killAll(dataDir: string): Promise<void> {
  const pids = processesOf(dataDir)
  for (const pid of pids) signal(pid, 'SIGKILL')
  while (pids.slice(1).some(isAlive)) await sleep(20)
}

/** The server comes first; the list is empty when it does not run. */
function processesOf(dataDir: string): number[] {
  const file = join(dataDir, 'postmaster.pid')
  if (!existsSync(file)) return []
  const postmaster = Number(readFileSync(file, 'utf8').split('\n')[0])
  return [postmaster, ...childrenOf(postmaster)]
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
