import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { buildApp } from '../../../../api/app.ts'
import { openReadDatabase } from '../../../../api/queries/read-database.ts'
import { replay } from '../../../../indexer/ingest/replay.ts'
import { openQueueBackend } from '../../../../indexer/open-queue-backend.ts'
import { digestReadModel } from '../../../../indexer/projections/digest.store.ts'
import { connect, type Db } from '../../../../shared/db/connect.ts'
import { inTransaction } from '../../../../shared/db/transaction.ts'
import { createLogger } from '../../../../shared/log.ts'
import { testDatabase, type TestDatabase } from '../../../helpers/database.ts'
import { ingestStories } from '../../../helpers/ingest-ledger.ts'
import { tellStories } from '../../../helpers/two-chain-stories.ts'

/** All of these change what an unprepared session writes, reads, or how long it may. */
const HOSTILE = {
  search_path: 'decoy, pg_catalog, projection, ledger',
  TimeZone: 'Asia/Tokyo',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  extra_float_digits: '-5',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  client_encoding: 'LATIN1',
  default_text_search_config: 'pg_catalog.german',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  statement_timeout: '50ms',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '20ms',
  idle_session_timeout: '100ms',
  transaction_timeout: '60ms',
}

/** Found before those of pg_catalog with the search path above. */
const DECOYS = `
  create schema decoy;
  create function decoy.now() returns timestamptz language sql as 'select timestamptz ''1999-01-01''';
  create function decoy.clock_timestamp() returns timestamptz language sql as 'select timestamptz ''1999-01-01''';
  create function decoy.gen_random_uuid() returns uuid language sql as 'select ''00000000-0000-0000-0000-000000000000''::uuid';
  create function decoy.to_char(timestamptz, text) returns text language sql as 'select ''decoy''';
  create function decoy.set_config(text, text, boolean) returns text language sql as 'select ''decoy''';
  create function decoy.current_setting(text) returns text language sql as 'select ''off''';
  create function decoy.pg_is_in_recovery() returns boolean language sql as 'select false';
  create function decoy.never(text, text) returns boolean language sql as 'select false';
  create operator decoy.= (leftarg = text, rightarg = text, function = decoy.never);
  create table decoy.pg_class (oid oid, relname name, relnamespace oid, relkind "char");
  create table decoy.pg_namespace (oid oid, nspname name);
  create table decoy.job (id text)`

async function makeHostile({ url, db }: TestDatabase): Promise<void> {
  await sql.raw(DECOYS).execute(db)
  const name = new URL(url).pathname.slice(1)
  for (const [setting, value] of Object.entries(HOSTILE)) {
    const text = setting === 'search_path' ? value : `'${value}'`
    await sql.raw(`alter database ${name} set ${setting} = ${text}`).execute(db)
  }
}

/** Rows without times, versions and what depends on them, as an ordinary session writes them down. */
async function rowsOf(db: Db): Promise<unknown> {
  const tables = ['ledger.event_log', 'projection.activity', 'projection.loans', 'projection.channels']
  const all = []
  for (const table of tables) {
    const { rows } = await sql<{ row: object }>`
      select to_jsonb(one) - array['recorded_at', 'created_at', 'updated_at'] as row from ${sql.table(table)} one
      order by to_jsonb(one)->>'position', to_jsonb(one)->>'id'`.execute(db)
    all.push(rows.map(({ row }) => row))
  }
  return all
}

const URLS = ['/api/activity/history', '/api/activity?limit=200', '/api/loan/ERC20/1', '/api/loan/FIL/1']

async function answersOf(url: string): Promise<string[]> {
  const database = openReadDatabase(url, { onError: () => undefined })
  const app = await buildApp({ database, log: createLogger('test', 'silent'), version: 'test' })
  try {
    const answers = []
    for (const path of URLS) answers.push((await app.inject(path)).body)
    return answers
  } finally {
    await app.close()
    await database.close()
  }
}

function opened(t: Test, url: string): Db {
  const db = connect(url, { name: 'hostile settings', max: 2 })
  t.teardown(() => db.destroy())
  return db
}

void t.test('whatever a DBA has set for the database, the same is written, read and answered', async (t) => {
  const [plain, hostile] = [await testDatabase(t), await testDatabase(t)]
  await makeHostile(hostile)
  const raw = new pg.Client(hostile.url)
  await raw.connect()
  t.same((await raw.query('show datestyle')).rows, [{ DateStyle: 'SQL, DMY' }], 'others get those settings')
  t.same((await raw.query('select now()::text')).rows, [{ now: '01/01/1999 00:00:00 JST' }])
  await raw.end()

  const db = opened(t, hostile.url)
  const { rows } = await sql<{ name: string; set: string }>`
    select name, current_setting(name) as set from unnest(${Object.keys(HOSTILE)}::text[]) name`.execute(db)
  const { rows: defaults } = await sql<{ name: string; set: string }>`
    select name, current_setting(name) as set from unnest(${Object.keys(HOSTILE)}::text[]) name`.execute(
    plain.db,
  )
  t.same(rows, defaults, 'each setting is our own')
  for (const { name, set } of rows) t.not(set, HOSTILE[name as keyof typeof HOSTILE], name)
  const stories = tellStories(1, 30)
  await ingestStories(plain.db, stories)
  await ingestStories(db, stories)
  t.same(await rowsOf(hostile.db), await rowsOf(plain.db), 'the rows')

  const before = await digestReadModel(db)
  t.same(await digestReadModel(hostile.db), before)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  t.same(await digestReadModel(db), before, 'a replay makes the same')

  const answers = await answersOf(hostile.url)
  const names = Object.keys(HOSTILE).join(', ')
  for (const setting of Object.keys(HOSTILE))
    await sql
      .raw(`alter database ${new URL(hostile.url).pathname.slice(1)} reset ${setting}`)
      .execute(hostile.db)
  t.same(await answersOf(hostile.url), answers, `the answers without ${names}`)
  t.match(answers[0], /"createdAt":"20\d\d-\d\d-\d\dT/)
})

void t.test('BullMQ finds its own tables', async (t) => {
  const hostile = await testDatabase(t)
  await makeHostile(hostile)
  const errors: string[] = []
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl: hostile.url }, ({ message }) =>
    errors.push(message),
  )
  const queue = backend.openQueue('hostile')
  await queue.add('job', { é: '’' }, {})
  const worker = { close: (): Promise<void> => Promise.resolve() }
  const taken = await new Promise<unknown>((resolve) => {
    Object.assign(
      worker,
      backend.openWorker(
        'hostile',
        ({ data }) => {
          resolve(data)
          return Promise.resolve()
        },
        { mostCharacters: 1_000 },
      ),
    )
  })
  t.same(taken, { é: '’' })
  await queue.close()
  await worker.close()
})

void t.test('a session that is read-only is refused, and says why', async (t) => {
  const { url, db: admin } = await testDatabase(t)
  const name = new URL(url).pathname.slice(1)
  await sql.raw(`alter database ${name} set default_transaction_read_only = on`).execute(admin)
  const db = opened(t, url)
  const refused = inTransaction(db, (trx) => sql`select 1`.execute(trx))
  await t.rejects(refused, { code: '25006', message: /default_transaction_read_only is on/ })
  await sql.raw(`alter database ${name} reset default_transaction_read_only`).execute(admin)
  await t.resolves(
    inTransaction(db, (trx) => sql`select 1`.execute(trx)),
    'and asked again',
  )
})

void t.test('a session on which a write was refused as read-only is used no more', async (t) => {
  const { url } = await testDatabase(t)
  const db = connect(url, { name: 'read-only', max: 1 })
  t.teardown(() => db.destroy())
  const process = async (): Promise<number> =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid ?? 0
  const first = await process()
  t.equal(await process(), first, 'a session is used again as a rule')
  const write = sql`update ledger.log_head set last_position = last_position`
  await t.rejects(
    inTransaction(db, async (trx) => {
      await sql`set transaction read only`.execute(trx)
      await write.execute(trx)
    }),
    { code: '25006' },
  )
  const second = await process()
  t.not(second, first, 'after a transaction')
  await sql`set default_transaction_read_only = on`.execute(db)
  await t.rejects(write.execute(db), { code: '25006' })
  t.not(await process(), second, 'after a statement of its own')
  await t.resolves(write.execute(db))
})
