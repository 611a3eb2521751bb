import { sql } from 'kysely'
import t from 'tap'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { connect } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'
import { rowsReadSoFar } from '../../helpers/query-plan.ts'
import { seedLoan, seedRecords } from '../../helpers/seed-projection.ts'

const CHANGES = {
  'the id of a record': sql`update projection.activity set id = id + 1 where id = (select max(id) from projection.activity)`,
  'its place': sql`update projection.activity set slot = slot + 1 where id = (select max(id) from projection.activity)`,
  'when it became known': sql`update projection.activity set created_at = created_at - interval '1 millisecond'
    where id = (select max(id) from projection.activity)`,
  'what its kind says': sql`update projection.record_kinds set event = 'Payback' where id = 1`,
  'what a loan says': sql`update projection.loans set evm_part = '{"a":2}'::json`,
  'how far the log was folded': sql`update projection.fold_state set version = gen_random_uuid(), folded_position = folded_position + 1`,
}

void t.test(
  'whatever changes in the read model, the digest is another; kinds are numbered as they come',
  async (t) => {
    const { db } = await testDatabase(t)
    await seedRecords(db, 40)
    await seedLoan(db, { loanType: 'ERC20FIL', loanId: '1', id: 1, part: { a: 1 } })
    const seen = new Set([(await digestReadModel(db)).digest])
    for (const [what, change] of Object.entries(CHANGES)) {
      await change.execute(db)
      const { digest } = await digestReadModel(db)
      t.notOk(seen.has(digest), what)
      seen.add(digest)
    }
    const { digest } = await digestReadModel(db)
    await sql`update projection.record_kinds set id = id + 10`.execute(db)
    await sql`update projection.activity set kind = kind + 10`.execute(db)
    t.equal((await digestReadModel(db)).digest, digest)
  },
)

void t.test(
  'a read model that has no statistics yet, as after a replay, is read once and no more',
  async (t) => {
    const { db, url } = await testDatabase(t)
    await sql`alter table projection.activity set (autovacuum_enabled = false)`.execute(db)
    await seedRecords(db, 60_000)
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const session = connect(url, { name: 'digest', max: 1 })
    t.teardown(() => session.destroy())
    const before = await rowsReadSoFar(session, db, 'activity')
    await digestReadModel(session)
    t.equal((await rowsReadSoFar(session, db, 'activity')) - before, 60_000)
  },
)
