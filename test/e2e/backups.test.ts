import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Deployment } from '../../devnet/evm/deploy.ts'
import type { Player } from '../../devnet/evm/player.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { DebianPostgres, type DebianServer } from '../helpers/debian-postgres.ts'
import { blocksOf } from '../helpers/documents.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { recordsWithKeys } from '../helpers/log-views.ts'
import { playedChain } from '../helpers/played-chain.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps } from '../helpers/run-ops.ts'

/** Runs the commands of the chapter "Backups" in docs/operations.md against servers of their own. */

t.setTimeout(300_000)

const DATABASE = 'loan_activity'
const OWNER = 'loan_activity'
const PASSWORD = 'letters1'

/** The block of docs/operations.md that contains `text`. */
function documented(text: string): string {
  const block = blocksOf('docs/operations.md').find(({ lines }) => lines.some((line) => line.includes(text)))
  if (block === undefined) throw new Error(`docs/operations.md has no block with ${text}`)
  return block.lines.join('\n')
}

/** The settings of a documented block of postgresql.conf, with the test's folder in place of the paths there. */
function settingsIn(text: string, folder: string): Record<string, string> {
  const lines = documented(text).matchAll(/^(\w+) = '?(.*?)'?$/gm)
  return Object.fromEntries(
    [...lines].map(([, name = '', value = '']) => [name, value.replaceAll('/srv', folder)]),
  )
}

function asRole(url: string, role: string): string {
  const named = new URL(url)
  named.username = role
  named.password = PASSWORD
  return named.href
}

function open(t: Test, url: string): Db {
  const db = connect(url, { name: 'loan-activity test', max: 2, session: ANYWHERE })
  t.teardown(() => db.destroy())
  return db
}

/** Creates the owner and an empty database, as docs/configuration.md says; returns the owner's URL. */
async function emptyDatabase(t: Test, server: DebianServer): Promise<string> {
  const admin = open(t, server.urlOf('postgres'))
  await sql.raw(`create role ${OWNER} login createrole password '${PASSWORD}'`).execute(admin)
  const text = "template template0 encoding 'UTF8' locale 'C'"
  await sql.raw(`create database ${DATABASE} owner ${OWNER} ${text}`).execute(admin)
  return asRole(server.urlOf(DATABASE), OWNER)
}

interface Ground {
  postgres: DebianPostgres
  rpcUrl: string
  deployment: Deployment
  player: Player
  networks: object
}

async function roles(t: Test, { networks }: Ground, databaseUrl: string): Promise<void> {
  const env = { INDEXER_PASSWORD: PASSWORD, API_PASSWORD: PASSWORD }
  const ran = await runOps(t, { databaseUrl, networks, env }, 'roles')
  if (ran.code !== 0) t.fail(ran.err)
}

/** Starts an indexer of its own role and waits until it is at the head. */
async function index(
  t: Test,
  ground: Ground,
  server: DebianServer,
): Promise<{ db: Db; indexer: IndexerProcess }> {
  const db = open(t, server.urlOf(DATABASE))
  const databaseUrl = asRole(server.urlOf(DATABASE), 'loan_activity_indexer')
  const indexer = await indexerProcess(t, { databaseUrl, networks: ground.networks })
  indexer.start()
  await indexer.untilSays('following')
  await untilSynced(db, ground.rpcUrl, indexer)
  return { db, indexer }
}

async function equalsChain(t: Test, { rpcUrl, deployment }: Ground, db: Db): Promise<void> {
  const { differences, logs } = await compareWithChain(db, rpcUrl, deployment)
  t.same(differences, [])
  t.ok(logs > 0, `${logs} logs are the chain's`)
}

/** Waits until everything written so far is in the archive. */
async function archiveAll(postgres: DebianPostgres, admin: Db): Promise<void> {
  const { rows } = await sql<{ wal: string }>`
    select pg_walfile_name(pg_current_wal_lsn()) as wal, pg_switch_wal()`.execute(admin)
  const file = join(postgres.folder, 'archive', rows[0]?.wal ?? '')
  await eventually('the log is archived', () => Promise.resolve(existsSync(file)))
}

/** Records' ids and events; their times are those of indexing. */
async function idsOf(db: Db): Promise<string[]> {
  return (await recordsWithKeys(db)).map(({ id, naturalKey }) => `${id} ${naturalKey}`)
}

const digestOf = async (db: Db): Promise<string> => (await digestReadModel(db)).digest

void t.test('backups of a running service', async (t) => {
  const postgres = DebianPostgres.find(t)
  if (postgres === undefined) return
  const { anvil, deployment, player, network } = await playedChain(t, 9)
  const ground: Ground = { postgres, rpcUrl: anvil.url, deployment, player, networks: { evm: [network] } }
  await postgres.run('mkdir archive')
  const source = await postgres.start('source', settingsIn('archive_command', postgres.folder))
  const ownerUrl = await emptyDatabase(t, source)
  const owner = open(t, ownerUrl)
  await migrate(owner)
  await prepareQueue(owner, ownerUrl)
  await roles(t, ground, ownerUrl)
  await player.playLoans(5)
  const { db, indexer } = await index(t, ground, source)

  await t.test('a dump is the same elsewhere, and indexing goes on there', async (t) => {
    const before = await digestOf(db)
    await postgres.run(documented('pg_dump'), { DATABASE_URL: ownerUrl })
    const elsewhere = await postgres.start('elsewhere')
    const restoredUrl = await emptyDatabase(t, elsewhere)
    await postgres.run(documented('pg_restore'), { DATABASE_URL: restoredUrl })
    t.equal(await digestOf(open(t, restoredUrl)), before)
    await roles(t, ground, restoredUrl)
    await player.playLoans(3)
    const restored = await index(t, ground, elsewhere)
    await untilSynced(db, anvil.url, indexer)
    t.same(await idsOf(restored.db), await idsOf(db), 'both gave records the same ids since')
    await equalsChain(t, ground, restored.db)
    t.equal(await restored.indexer.stop(), 0)
  })

  await t.test('a base backup goes on as well', async (t) => {
    const playing = player.playLoans(5)
    await postgres.run(documented('pg_basebackup'), { DATABASE_URL: source.urlOf(DATABASE) })
    await playing
    await postgres.run('cp -a restored copy')
    await player.playLoans(2)
    const restored = await index(t, ground, await postgres.start('copy'))
    await untilSynced(db, anvil.url, indexer)
    t.same(await idsOf(restored.db), await idsOf(db))
    await equalsChain(t, ground, restored.db)
    t.equal(await restored.indexer.stop(), 0)
  })

  await t.test('after an accident the last good moment is restored and catches up', async (t) => {
    const before = await digestOf(db)
    const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db)
    await player.playLoans(5)
    await untilSynced(db, anvil.url, indexer)
    await sql`drop schema ledger, projection cascade`.execute(owner)
    await indexer.kill()
    await archiveAll(postgres, open(t, source.urlOf('postgres')))
    postgres.touch('restored/recovery.signal')
    const server = await postgres.start('restored', {
      ...settingsIn('restore_command', postgres.folder),
      recovery_target_time: rows[0]?.now ?? '',
    })
    const restoredDb = open(t, server.urlOf(DATABASE))
    await eventually('it takes writes', async () => {
      const state = await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(restoredDb)
      return state.rows[0]?.standby === false
    })
    t.equal(await digestOf(restoredDb), before, 'the database of that moment')
    const restored = await index(t, ground, server)
    await equalsChain(t, ground, restored.db)
    t.equal(await restored.indexer.stop(), 0)
  })
})
