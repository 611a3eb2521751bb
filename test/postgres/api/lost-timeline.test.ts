import { sql } from 'kysely'
import t from 'tap'
import type { Db } from '../../../shared/db/connect.ts'
import { testApi } from '../../helpers/api.ts'
import { postgresPair } from '../../helpers/postgres-pair.ts'
import { eventually } from '../../helpers/programs.ts'
import { seedRecords } from '../../helpers/seed-projection.ts'

/** The version's former parts, before it was random. */
async function rowVersion(db: Db): Promise<string> {
  const { rows } = await sql<{ version: string }>`
    select concat_ws(' ', tableoid, xmin, ctid) as version from projection.fold_state`.execute(db)
  return rows[0]?.version ?? ''
}

async function nextTransaction(db: Db): Promise<number> {
  const { rows } = await sql<{ xid: string }>`
    select pg_snapshot_xmax(pg_current_snapshot())::text as xid`.execute(db)
  return Number(rows[0]?.xid)
}

async function writeStep(db: Db, records: number): Promise<void> {
  await sql`update projection.fold_state set records = ${records}, version = gen_random_uuid()`.execute(db)
}

void t.test('no answer of a lost timeline outlives the failover', async (t) => {
  const pair = await postgresPair(t)
  const { app } = await testApi(t, { url: pair.url })
  const pages = async (): Promise<unknown> =>
    (await app.inject('/api/activity/history')).json<{ pages: number }>().pages
  await seedRecords(pair.primary.admin, 3)
  await pair.caughtUp()
  await pair.stopReplication()

  for (let burnt = 0; burnt < 20; burnt += 1)
    await sql`select pg_current_xact_id()`.execute(pair.primary.admin)
  const shared = await nextTransaction(pair.primary.admin)
  await writeStep(pair.primary.admin, 30)
  t.equal(await pages(), 2, 'of the step that is lost')
  t.equal(await pages(), 2, 'and it is kept')

  await pair.promote()
  while ((await nextTransaction(pair.standby.admin)) < shared)
    await sql`select pg_current_xact_id()`.execute(pair.standby.admin)
  await writeStep(pair.standby.admin, 80)
  const [lost, held] = [await rowVersion(pair.primary.admin), await rowVersion(pair.standby.admin)]
  t.equal(lost, held, 'the row is at the same place, by the same transaction number, on both timelines')

  pair.leadTo(pair.standby)
  pair.reset()
  // As a rule the API drops its idle connections before the next request, which then fails on none of them.
  await eventually('the API has lost its connections', async () => {
    const { rows } = await sql`
      select 1 from pg_stat_activity where application_name = 'loan-activity api'`.execute(pair.primary.admin)
    return rows.length === 0
  })
  let next: unknown
  await eventually('the API answers', async () => (next = await pages()) !== undefined)
  t.equal(next, 4, 'of the timeline that goes on')
})
