import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Test } from 'tap'
import { startPostgres, type PostgresServer } from '../../devnet/postgres/server.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { freePort } from './free-port.ts'
import { eventually } from './programs.ts'
import { tcpSwitch } from './tcp-switch.ts'

const PASSWORD = 'password'
const DATABASE = 'service'
const FAST = { fsync: 'off', full_page_writes: 'off', max_connections: '100' }

/** One server of the pair. */
export interface PairedServer {
  port: number
  url: string
  /** A superuser's session directly to this server. */
  admin: Db
  /** Ends the server at once, like a crash. */
  kill(): Promise<void>
}

export interface PostgresPair {
  /** The clients' address. It leads to the primary until `leadTo` changes that. */
  url: string
  primary: PairedServer
  standby: PairedServer
  /** Sends new connections to this server; open ones stay. */
  leadTo(server: PairedServer): void
  /** Ends all connections through the address. */
  reset: () => void
  /** Resolves once the standby has replayed all earlier writes of the primary. */
  caughtUp(): Promise<void>
  /** Cuts the standby off from replication. */
  stopReplication(): Promise<void>
  promote(): Promise<void>
}

/** Starts a primary with a migrated database and its streaming standby. */
export async function postgresPair(t: Test): Promise<PostgresPair> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-test-pair-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  const [firstPort, secondPort] = [await freePort(), await freePort()]
  const begun = await launch(first, firstPort)
  await makeDatabase(firstPort)
  await begun.stop()
  execFileSync('cp', ['-a', first, second])
  execFileSync('cp', ['-a', join(second, 'PG_VERSION'), join(second, 'standby.signal')])
  const primary = await paired(t, first, firstPort)
  const source = `host=127.0.0.1 port=${firstPort} user=postgres password=${PASSWORD}`
  // The setting is in the file, so that ALTER SYSTEM can change it later.
  execFileSync('sh', [
    '-c',
    `echo "primary_conninfo = '${source}'" >> "$1"`,
    'sh',
    join(second, 'postgresql.conf'),
  ])
  const standby = await paired(t, second, secondPort)
  const address = await tcpSwitch(t, firstPort)
  return {
    url: urlOf(address.port),
    primary,
    standby,
    leadTo: ({ port }) => address.leadTo(port),
    reset: address.reset,
    async caughtUp() {
      const { rows } = await sql<{ lsn: string }>`select pg_current_wal_lsn()::text as lsn`.execute(
        primary.admin,
      )
      const lsn = rows[0]?.lsn ?? ''
      await eventually('the standby has caught up', async () => {
        const replayed = await sql<{ done: boolean }>`
          select coalesce(pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn, false) as done`.execute(standby.admin)
        return replayed.rows[0]?.done === true
      })
    },
    async stopReplication() {
      await sql`alter system set primary_conninfo = ''`.execute(standby.admin)
      await sql`select pg_reload_conf()`.execute(standby.admin)
      await eventually('the standby receives nothing', async () => {
        const { rows } = await sql`select 1 from pg_stat_wal_receiver`.execute(standby.admin)
        return rows.length === 0
      })
    },
    async promote() {
      await sql`select pg_promote()`.execute(standby.admin)
    },
  }
}

function launch(dataDir: string, port: number): Promise<PostgresServer> {
  return startPostgres({ dataDir, port, password: PASSWORD, settings: FAST, onLog: () => undefined })
}

async function paired(t: Test, dataDir: string, port: number): Promise<PairedServer> {
  const server = await launch(dataDir, port)
  const url = urlOf(port)
  const admin = connect(url, { name: 'test', max: 1, session: ANYWHERE })
  t.teardown(async () => {
    await admin.destroy()
    await server.stop()
  })
  return { port, url, admin, kill: () => server.stop(0) }
}

function urlOf(port: number, database = DATABASE): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`
}

async function makeDatabase(port: number): Promise<void> {
  const server = connect(urlOf(port, 'postgres'), { name: 'test', max: 1 })
  await sql`create database ${sql.id(DATABASE)}`.execute(server)
  await server.destroy()
  const db = connect(urlOf(port), { name: 'test', max: 1 })
  await migrate(db)
  await prepareQueue(db, urlOf(port))
  await db.destroy()
}
