import { sql } from 'kysely'
import t from 'tap'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { runOps } from '../../helpers/run-ops.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

void t.test('replay --diff names what a replay would change, and changes nothing', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  await ingestStories(db, tellStories(4, 7))
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl, networks: {} }, 'replay', ...args)
  const right = await digestReadModel(db)
  t.strictSame(
    { ...(await ops('--diff')), err: '' },
    { code: 0, out: 'a replay would change nothing\n', err: '' },
  )

  const records = await db.selectFrom('projection.activity').select('id').orderBy('id').execute()
  const [first, second] = records
  const loan = await db
    .selectFrom('projection.loans')
    .select(['loan_type', 'loan_id'])
    .orderBy('id')
    .executeTakeFirstOrThrow()
  await sql`update projection.activity set tx_hash = 'wrong' where id = ${first?.id}`.execute(db)
  await sql`delete from projection.activity where id = ${second?.id}`.execute(db)
  await sql`update projection.loans set evm_part = '{}' where loan_type = ${loan.loan_type} and loan_id = ${loan.loan_id}`.execute(
    db,
  )
  const wrong = await digestReadModel(db)
  const diff = await ops('--diff')
  t.equal(diff.code, 1, diff.err)
  t.match(diff.out, /^records: 1 would be added, 0 removed, 1 changed\n/)
  t.match(diff.out, `  changed ${first?.id}\n`)
  t.match(diff.out, `  added ${second?.id}\n`)
  t.match(
    diff.out,
    `loans: 0 would be added, 0 removed, 1 changed\n  changed ${loan.loan_type} ${loan.loan_id}\n`,
  )
  t.match(diff.out, /channels: 0 would be added, 0 removed, 0 changed\n$/)
  t.same(await digestReadModel(db), wrong, 'readers have what they had')
  const json = await ops('--diff', '--json')
  t.match(JSON.parse(json.out), {
    finished: true,
    same: false,
    differences: [{ part: 'record', added: 1 }, {}, {}],
  })

  t.equal((await ops()).code, 0)
  t.same(await digestReadModel(db), right, 'a replay mends it')
  t.equal((await ops('--diff')).code, 0)

  await sql`update projection_next.activity set tx_hash = 'wrong' where id = ${first?.id}`.execute(db)
  t.equal((await ops('--diff')).code, 1, 'it goes on with the work of its own version')
  await sql`comment on schema projection_next is '0.1.0/0001-initial'`.execute(db)
  t.equal((await ops('--diff')).code, 0, 'and not with that of another')

  await sql`delete from projection.daily where ctid = (select min(ctid) from projection.daily)`.execute(db)
  t.match(await ops('--diff'), { code: 1, out: 'other tables differ\n' })
  t.match(JSON.parse((await ops('--diff', '--json')).out), { same: false })
})
