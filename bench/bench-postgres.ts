import { rmSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { startPostgres } from '../devnet/postgres/server.ts'
import { prepareQueue } from '../indexer/prepare-queue.store.ts'
import { connect, type Db } from '../shared/db/connect.ts'
import { migrate } from '../shared/db/migrate.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { childrenOf, signal } from '../test/simulation/process-tree.ts'
import { setHugePagesAside } from './huge-pages.ts'

/** Durable as in production: a commit is on disk before it is answered. Sized for a small machine. */
const SETTINGS: Record<string, string> = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  max_connections: '60',
}
/** The value of `shared_memory_size` for these settings, and some reserve. */
const SHARED_MEMORY_MIB = 564
/** Statement statistics ship with every Postgres, but their cost stays out of the figures unless requested. */
const COUNTING = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.max': '1000' }
const PASSWORD = 'bench'
const TEMPLATE = 'bench_template'
/** Clock ticks a second, as Linux reports them to programs. */
const TICKS = 100

export interface BenchPostgres {
  settings: Record<string, string>
  /** Creates a migrated database for each run. */
  newDatabase: () => Promise<{ url: string; db: Db; drop: () => Promise<void> }>
  /** Processor seconds of the server and all its sessions so far. */
  cpuSeconds: () => Promise<number>
  /** Statements executed since the last call, by total time; empty where statements are not counted. */
  takeStatements: () => Promise<StatementTime[]>
  stop: () => Promise<void>
}

export interface StatementTime {
  text: string
  calls: number
  rows: number
  /** Total milliseconds. */
  ms: number
}

/** Makes every server started from now on require huge pages. They stay reserved until this process ends. */
export function useHugePages(): void {
  setHugePagesAside(SHARED_MEMORY_MIB)
  SETTINGS['huge_pages'] = 'on'
}

export async function startBenchPostgres(countsStatements = false): Promise<BenchPostgres> {
  const settings = { ...SETTINGS, ...(countsStatements ? COUNTING : {}) }
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-postgres-'))
  const dataDir = join(folder, 'data')
  const port = await freePort()
  const server = await startPostgres({
    dataDir,
    port,
    password: PASSWORD,
    settings,
    onLog: () => undefined,
  })
  const pid = Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  // An interrupted benchmark must leave nothing behind.
  const killAtExit = (): void => {
    for (const one of [pid, ...childrenOf(pid)]) signal(one, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', killAtExit)
  const url = (name: string): string => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`
  const admin = connect(url('postgres'), { name: 'bench admin', max: 1 })
  if (countsStatements) await sql`create extension pg_stat_statements schema public`.execute(admin)
  await sql`create database ${sql.id(TEMPLATE)}`.execute(admin)
  const template = connect(url(TEMPLATE), { name: 'bench template', max: 1 })
  await migrate(template)
  await prepareQueue(template, url(TEMPLATE))
  await template.destroy()
  // Whether the machine has huge pages: each page that a session touches first costs it time (docs/performance.md).
  const { rows: hugePages } = await sql<{ status: string }>`
    select current_setting('huge_pages_status') as status`.execute(admin)
  let made = 0
  return {
    settings: { ...settings, huge_pages: hugePages[0]?.status ?? 'unknown' },
    newDatabase: async () => {
      const name = `bench_${(made += 1)}`
      await sql`create database ${sql.id(name)} template ${sql.id(TEMPLATE)}`.execute(admin)
      const db = connect(url(name), { name: 'bench', max: 2 })
      const drop = async (): Promise<void> => {
        await db.destroy()
        await sql`drop database ${sql.id(name)} with (force)`.execute(admin)
        await sql`checkpoint`.execute(admin)
      }
      return { url: url(name), db, drop }
    },
    cpuSeconds: () => familySeconds(pid),
    takeStatements: async () => {
      if (!countsStatements) return []
      const { rows } = await sql<StatementTime>`
        select regexp_replace(query, '\\s+', ' ', 'g') as text, sum(calls)::float8 as calls, sum(rows)::float8 as rows,
          sum(total_exec_time + total_plan_time) as ms
        from public.pg_stat_statements group by 1 order by 4 desc`.execute(admin)
      await sql`select public.pg_stat_statements_reset()`.execute(admin)
      return rows
    },
    stop: async () => {
      await admin.destroy()
      await server.stop()
      process.off('exit', killAtExit)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const STATEMENTS_TOLD = 20

/** Prints each statement's share of database time on standard error; nothing when there are none. */
export function tellStatements(statements: StatementTime[]): void {
  const all = statements.reduce((sum, { ms }) => sum + ms, 0)
  for (const { text, calls, rows, ms } of statements.slice(0, STATEMENTS_TOLD)) {
    const share = `${((100 * ms) / all).toFixed(1)} %`.padStart(7)
    console.error(`${share} ${ms.toFixed(0)} ms, ${calls} calls, ${rows} rows: ${text.slice(0, 120)}`)
  }
}

/** Reads one process's processor seconds from the operating system; NaN where it does not report them. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await statOf(pid)
  return stat === null ? NaN : (stat.own + stat.reaped) / TICKS
}

async function familySeconds(parent: number): Promise<number> {
  const stats = await Promise.all(
    (await readdir('/proc').catch(() => []))
      .filter((name) => /^\d+$/.test(name))
      .map((name) => statOf(Number(name))),
  )
  const ticks = stats.reduce((sum, stat) => {
    if (stat?.pid === parent) return sum + stat.own + stat.reaped
    return stat?.parent === parent ? sum + stat.own : sum
  }, 0)
  return ticks / TICKS
}

async function statOf(
  pid: number,
): Promise<{ pid: number; parent: number; own: number; reaped: number } | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name before the last parenthesis may hold any text.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (index: number): number => Number(fields[index])
  return { pid, parent: at(1), own: at(11) + at(12), reaped: at(13) + at(14) }
}
