import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect, type Db } from '../../../shared/db/connect.ts'
import { testDatabase, type TestDatabase } from '../../helpers/database.ts'
import { runOps } from '../../helpers/run-ops.ts'

/** Roles belong to the server, so each test names its own. */
let made = 0
function roleNames(
  t: Test,
  { serverUrl }: TestDatabase,
): { indexer: string; api: string; producer: string; intake: string } {
  made += 1
  const names = ['indexer', 'api', 'producer', 'intake'].map(
    (program) => `test_${process.pid}_${made}_${program}`,
  )
  t.teardown(async () => {
    const admin = connect(`${serverUrl}/postgres`, { name: 'loan-activity test admin', max: 1 })
    for (const name of names) await sql`drop role if exists ${sql.id(name)}`.execute(admin)
    await admin.destroy()
  })
  const [indexer = '', api = '', producer = '', intake = ''] = names
  return { indexer, api, producer, intake }
}

function connectAs(t: Test, url: string, role: string): Db {
  const own = new URL(url)
  own.username = role
  own.password = 'letters1'
  const db = connect(own.href, { name: 'loan-activity test role', max: 1 })
  t.teardown(() => db.destroy())
  return db
}

const PASSWORDS = {
  ...{ INDEXER_PASSWORD: 'letters1', API_PASSWORD: 'letters1' },
  ...{ PRODUCER_PASSWORD: 'letters1', INTAKE_PASSWORD: 'letters1' },
}

void t.test('each program’s role may do what it needs and nothing else', async (t) => {
  const database = await testDatabase(t)
  const { url, db } = database
  const names = roleNames(t, database)
  const args = [
    '--indexer',
    names.indexer,
    '--api',
    names.api,
    '--producer',
    names.producer,
    '--intake',
    names.intake,
  ]
  const roles = (...more: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl: url, networks: {}, env: PASSWORDS }, 'roles', ...args, ...more)
  const first = await roles()
  t.equal(first.code, 0, first.err)
  t.match(first.out, `${names.api}: may do what the API needs`)
  t.equal((await roles('--json')).code, 0, 'a second run changes nothing')

  const check = await roles('--check')
  t.equal(check.code, 0, check.out)
  t.match(check.out, `${names.api}: may do what the API needs on tables, and nothing else\n`)
  await sql`grant delete on ledger.event_log to ${sql.id(names.api)}`.execute(db)
  await sql`revoke select on ledger.tokens from ${sql.id(names.indexer)}`.execute(db)
  const differs = await roles('--check')
  t.equal(differs.code, 1)
  t.match(differs.out, `${names.api}: differs from what the API needs\n  has delete on 1 table of ledger\n`)
  t.match(differs.out, `  lacks select on 1 table of ledger\n`)
  t.match(JSON.parse((await roles('--check', '--json')).out), [
    { program: 'indexer', exists: true, faults: [{ is: 'lacks', privilege: 'select' }] },
    { program: 'api', faults: [{ is: 'has', privilege: 'delete', schema: 'ledger', tables: 1 }] },
    ...[{ faults: [] }, { faults: [] }],
  ])
  t.equal((await roles()).code, 0, 'and roles mends both')
  t.equal((await roles('--check')).code, 0)

  await sql`create table ledger.made_later (n int)`.execute(db)
  const api = connectAs(t, url, names.api)
  const indexer = connectAs(t, url, names.indexer)
  const producer = connectAs(t, url, names.producer)
  const intake = connectAs(t, url, names.intake)
  await sql`select * from projection.activity, ledger.network_status, migration.kysely_migration, ledger.made_later`.execute(api) // prettier-ignore
  await sql`insert into ledger.made_later values (1)`.execute(indexer)
  await sql`select * from migration.kysely_migration`.execute(indexer)
  await sql`select * from ledger.event_log, migration.kysely_migration`.execute(intake)

  const denied: [string, Db, string][] = [
    ['the API writes', api, 'insert into ledger.made_later values (1)'],
    ['the API deletes', api, 'delete from projection.activity'],
    ['the API creates', api, 'create table projection.mine (n int)'],
    ['the API creates a schema', api, 'create schema mine'],
    ['the indexer drops', indexer, 'drop table projection.activity'],
    ['the indexer alters', indexer, 'alter table ledger.event_log add column n int'],
    ['the indexer changes migrations', indexer, 'delete from migration.kysely_migration'],
    ['a producer reads the log', producer, 'select * from ledger.event_log'],
    ['a producer reads the read model', producer, 'select * from projection.loans'],
    ['the intake writes the log', intake, 'delete from ledger.waiting_vouchers'],
  ]
  for (const [what, role, statement] of denied) {
    await t.rejects(sql.raw(statement).execute(role), { code: '42501' }, what)
  }
  const asApi = new URL(url)
  asApi.username = names.api
  asApi.password = 'letters1'
  t.match(await runOps(t, { databaseUrl: asApi.href, networks: {} }, 'dead-letters', 'drop', 'all'), {
    ...{ code: 1, out: '' },
    err: /^ops: DATABASE_URL: permission denied for .*: use the role of this program, or run `ops roles` as the owner\n$/,
  })
  await Promise.all([api, indexer, producer, intake].map((one) => one.destroy()))
  await sql`drop owned by ${sql.join(Object.values(names).map((name) => sql.id(name)))}`.execute(db)
})

void t.test('a role that is not there, without a password to create it, is one line', async (t) => {
  const { url } = await testDatabase(t)
  const missing = await runOps(t, { databaseUrl: url, networks: {} }, 'roles', '--indexer', 'nobody_here')
  t.equal(missing.code, 2)
  t.match(missing.err, /^ops: there is no role nobody_here: create it .*, or set INDEXER_PASSWORD\n$/)
})
