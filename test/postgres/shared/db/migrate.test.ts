import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect, type Db } from '../../../../shared/db/connect.ts'
import { migrate, requireKnownSchema } from '../../../../shared/db/migrate.ts'
import { inTransaction } from '../../../../shared/db/transaction.ts'
import { ConfigError, messageOf } from '../../../../shared/errors.ts'
import { testDatabase } from '../../../helpers/database.ts'

/** A ConfigError of one line, which is what a program prints before it leaves with 2. */
async function refuses(t: Test, work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.type(error, ConfigError)
  t.match(messageOf(error), message)
  t.notMatch(messageOf(error), '\n')
}

/** Tables, columns, indexes and constraints of ours, as text. */
async function shapeOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type as line
      from information_schema.columns where table_schema in ('ledger', 'projection')
    union all select indexdef from pg_indexes where schemaname in ('ledger', 'projection')
    union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
      where connamespace in ('ledger'::regnamespace, 'projection'::regnamespace)
    order by line`.execute(db)
  return rows.map(({ line }) => line)
}

void t.test('twenty processes that migrate at once make one schema', async (t) => {
  const { url, db } = await testDatabase(t, { migrated: false })
  const pools = Array.from({ length: 20 }, (_, index) => connect(url, { name: `migrator ${index}`, max: 2 }))
  t.teardown(() => Promise.all(pools.map((pool) => pool.destroy())))
  const ran = await Promise.all(pools.map((pool) => migrate(pool)))
  const winners = ran.filter((names) => names.length > 0)
  t.equal(winners.length, 1, 'one of them did the work')
  const { rows } = await sql<{
    name: string
  }>`select name from migration.kysely_migration order by name`.execute(db)
  t.strictSame(
    rows.map(({ name }) => name),
    winners[0],
    'each migration ran once',
  )
  await requireKnownSchema(db)
  t.strictSame(
    await shapeOf(db),
    await shapeOf((await testDatabase(t)).db),
    'as one alone would have made it',
  )
  t.strictSame(await migrate(db), [], 'nothing is left to do')
})

void t.test('a schema newer than the program stops it, and is not touched', async (t) => {
  const { db } = await testDatabase(t)
  await sql`insert into migration.kysely_migration (name, timestamp) values ('9999-newer', 'now')`.execute(db)
  const before = await shapeOf(db)
  const message = /the migration 9999-newer, which this version does not know: use a newer version/
  await refuses(t, migrate(db), message)
  await refuses(t, requireKnownSchema(db), message)
  t.strictSame(await shapeOf(db), before)
})

void t.test('a schema that is not there stops it, and says how to make it', async (t) => {
  const { db } = await testDatabase(t, { migrated: false })
  await refuses(t, requireKnownSchema(db), /lacks the migration \d{4}-.*: run `npm run migrate` first/)
  t.strictSame(await shapeOf(db).catch(() => []), [], 'asking makes nothing')
  await migrate(db)
  await requireKnownSchema(db)
})

void t.test('a migration that lacks its neighbours', async (t) => {
  const { db } = await testDatabase(t)
  await sql`delete from migration.kysely_migration where name = (select max(name) from migration.kysely_migration)`.execute(
    db,
  )
  await refuses(t, requireKnownSchema(db), /npm run migrate/)
})

for (const table of ['ledger.network_status', 'projection.channels', 'ledger.webhook_outbox'])
  void t.test(`a migration that waits for a reader of ${table} does not hold up others`, async (t) => {
    const { url, db } = await testDatabase(t)
    const shape = await shapeOf(db)
    // As the database was before these migrations.
    await sql`delete from migration.kysely_migration where name >= '0004'`.execute(db)
    await sql`alter table ledger.network_status drop column explorer`.execute(db)
    await sql`alter table projection.channels drop column is_open cascade`.execute(db)
    await sql`drop table ledger.webhook_deadlines`.execute(db)
    await sql`alter table ledger.webhook_outbox drop column written_at`.execute(db)
    await sql`alter table ledger.event_log drop column proof`.execute(db)
    await sql`alter table ledger.ranges_read drop column counts`.execute(db)
    await sql`alter table ledger.chain_position drop column chain_rules, drop column state_proven,
      drop column certificates, drop column certified`.execute(db)
    const [reader, migrating] = [
      connect(url, { name: 'reader', max: 1 }),
      connect(url, { name: 'migrating', max: 1 }),
    ]
    t.teardown(() => Promise.all([reader.destroy(), migrating.destroy()]))
    const read = (db: Db): Promise<unknown> => sql`select from ${sql.table(table)} limit 1`.execute(db)
    let ran: Promise<string[]> | undefined
    await inTransaction(reader, async (trx) => {
      await read(trx)
      await new Promise<void>((resolve, reject) => {
        ran = migrate(migrating, resolve)
        ran.catch(reject)
      })
      await read(db)
    })
    t.strictSame((await ran)?.slice(0, 2), ['0004-explorers', '0005-webhook-deadlines'])
    t.strictSame(await shapeOf(db), shape)
  })

void t.test('a role that may only connect cannot hold a migration up', async (t) => {
  const { url, db } = await testDatabase(t, { migrated: false })
  const stranger = connect(url, { name: 'stranger', max: 1 })
  t.teardown(() => stranger.destroy())
  // The key of Kysely's own lock; any session can take it.
  await sql`select pg_advisory_lock(3853314791062309107)`.execute(stranger)
  t.ok((await migrate(db)).length > 0)
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`.execute(db)
  t.equal(rows.length, 0, 'no transaction is left open')
})
