import { sql } from 'kysely'
import t from 'tap'
import { up } from '../../../migrations/2026-11-27-loans-without-copies.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'
import { migrateBefore } from '../../helpers/migrate-before.ts'

void t.test(
  'what a loan’s columns said its part says, and a replay of before is not gone on with',
  async (t) => {
    const { db } = await testDatabase(t, { migrated: false })
    await migrateBefore(db, '2026-11-27-loans-without-copies.ts')
    const part = { contractLoanId: '7', borrower: '0xB', lender: '0xL', state: '3' }
    await sql`insert into projection.loans (loan_type, loan_id, id, network, state, borrower, lender, evm_part, last_block,
      last_log_index, created_at, updated_at)
    values ('ERC20FIL', '7', 1, 'evm:1', '3', '0xB', '0xL', ${JSON.stringify(part)}::json, 1, 0, now(), now())`.execute(
      db,
    )
    await sql`create schema projection_next`.execute(db)
    await sql`create table projection_next.loans (like projection.loans)`.execute(db)
    await up(withoutTables(db))
    const loans: object[] = await db.selectFrom('projection.loans').selectAll().execute()
    t.match(loans, [{ loan_id: '7', evm_part: part }])
    const columns = Object.keys(loans[0] ?? {})
    t.same(
      ['state', 'borrower', 'lender'].filter((name) => columns.includes(name)),
      [],
    )
    const { rows: left } = await sql`select 1 from pg_namespace where nspname = 'projection_next'`.execute(db)
    t.same(left, [])
  },
)
