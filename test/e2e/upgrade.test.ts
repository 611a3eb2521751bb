import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { connect, type Db } from '../../shared/db/connect.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { DebianPostgres, type DebianServer } from '../helpers/debian-postgres.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { playedChain } from '../helpers/played-chain.ts'
import { runOps } from '../helpers/run-ops.ts'
import { startReaders } from '../helpers/upgrade-readers.ts'

/**
 * Upgrades a service at work from an earlier commit, the one before the newest migration or that of the first argument,
 * while its API is read; then rolls back to the dump. It needs the repository's history.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DATABASE = 'loan_activity'

t.setTimeout(600_000)

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()

/** Undefined without the repository's history: the test then reports that and ends; in CI it fails. */
function findFormerCommit(t: Test): string | undefined {
  const newest = readdirSync(join(ROOT, 'migrations')).sort().at(-1) ?? ''
  try {
    const [added = ''] = git('log', '--format=%H', '--diff-filter=A', '--', `migrations/${newest}`).split(
      '\n',
    )
    return git('rev-parse', '--verify', process.argv[2] ?? `${added}^`)
  } catch {
    const reason = 'there is no commit before the newest migration'
    if (process.env['CI'] === 'true') t.fail(reason)
    else t.comment(`skipped: ${reason}`)
    return undefined
  }
}

/** Bundles the programs of a commit, or of the present sources; returns their folder. */
function bundle(t: Test, commit?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-upgrade-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const source = commit === undefined ? ROOT : join(folder, 'source')
  if (commit !== undefined) {
    execFileSync('sh', ['-c', 'mkdir "$1" && git archive "$2" | tar -x -C "$1"', 'sh', source, commit], {
      cwd: ROOT,
    })
    symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  }
  const programs = join(folder, 'dist')
  execFileSync(process.execPath, [join(source, '.config/build.mjs'), programs], { stdio: 'pipe' })
  execFileSync('cp', [join(source, 'package.json'), folder])
  return programs
}

/** Helpers that start programs take them from this folder from now on. */
function use(programs: string): void {
  process.env['TEST_PROGRAMS'] = programs
}

async function emptyDatabase(postgres: DebianPostgres, server: DebianServer): Promise<string> {
  const create = `create database ${DATABASE} template template0 encoding 'UTF8' locale 'C'`
  await postgres.run('psql --quiet --command="$CREATE" "$URL"', {
    ...{ CREATE: create, URL: server.urlOf('postgres') },
  })
  return server.urlOf(DATABASE)
}

void t.test('an upgrade is read through, and can be rolled back', async (t) => {
  const postgres = DebianPostgres.find(t)
  if (postgres === undefined) return
  const commit = findFormerCommit(t)
  if (commit === undefined) return
  const [former, present] = [bundle(t, commit), bundle(t)]
  t.comment(`from ${git('log', '-1', '--format=%h %s', commit)}`)
  const { anvil, deployment, player, network } = await playedChain(t, 6)
  const networks = { evm: [network] }
  const migrated = async (databaseUrl: string): Promise<void> => {
    const ran = await runOps(t, { databaseUrl, networks }, 'migrate')
    t.equal(ran.code, 0, ran.out + ran.err)
  }
  const indexing = async (databaseUrl: string): Promise<{ db: Db; indexer: IndexerProcess }> => {
    const db = connect(databaseUrl, { name: 'loan-activity test', max: 2 })
    t.teardown(() => db.destroy())
    const indexer = await indexerProcess(t, { databaseUrl, networks })
    indexer.start()
    await indexer.untilSays('following')
    await untilSynced(db, anvil.url, indexer)
    return { db, indexer }
  }
  const serving = async (databaseUrl: string): Promise<{ api: ApiProcess; address: string }> => {
    const env = { DATABASE_URL: databaseUrl, API_PORT: '0', API_RATE_LIMIT: 'off' }
    const api = startApi(t, env)
    return { api, address: await api.listening }
  }
  const equalsChain = async (db: Db): Promise<void> => {
    t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
  }

  use(former)
  const databaseUrl = await emptyDatabase(postgres, await postgres.start('server'))
  await migrated(databaseUrl)
  await player.playLoans(20)
  const before = await indexing(databaseUrl)
  const old = await serving(databaseUrl)
  const readers = startReaders(old.address)
  await postgres.run('pg_dump --format=custom --file=former.dump "$DATABASE_URL"', {
    DATABASE_URL: databaseUrl,
  })
  t.equal(await before.indexer.stop(), 0)

  use(present)
  await player.playLoans(5)
  await migrated(databaseUrl)
  const after = await indexing(databaseUrl)
  await equalsChain(after.db)
  const renewed = await serving(databaseUrl)
  const more = startReaders(renewed.address)
  await player.playLoans(5)
  await untilSynced(after.db, anvil.url, after.indexer)
  const [answers, others] = [await readers.stop(), await more.stop()]
  t.same(
    answers.failures,
    [],
    `${answers.count} answers of the former API, the slowest after ${answers.slowestMs} ms`,
  )
  t.same(others.failures, [], `${others.count} answers of the present one`)
  t.ok(answers.count > 100)
  t.equal(await after.indexer.stop(), 0)

  use(former)
  const rolledBack = await emptyDatabase(postgres, await postgres.start('rollback'))
  await postgres.run('pg_restore --no-privileges --exit-on-error --dbname="$DATABASE_URL" former.dump', {
    DATABASE_URL: rolledBack,
  })
  const again = await indexing(rolledBack)
  await equalsChain(again.db)
  const served = await serving(rolledBack)
  t.equal((await fetch(`${served.address}/api/activity/history/1`)).status, 200)
  t.equal(await again.indexer.stop(), 0)
})
