import { sql } from 'kysely'
import t from 'tap'
import { up } from '../../../migrations/2026-11-28-loans-of-many-records.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'
import { migrateBefore } from '../../helpers/migrate-before.ts'

void t.test(
  'parts that were written before name their loan as its lookup does, and stay the same otherwise',
  async (t) => {
    const { db } = await testDatabase(t, { migrated: false })
    await migrateBefore(db, '2026-11-28-loans-of-many-records.ts')
    const secret = '"erc20LoanId":"5"'
    const part = (loan: string): string =>
      JSON.stringify({ secretA1: secret, erc20LoanId: loan, erc20LoanContractId: '7', state: '1' })
    await sql`
    insert into projection.channels (network, robust, id, state, addresses, parties, secret_hashes, stated_loans,
      created_s, loan_type, loan_id, role, strength, claimants, shown, part, created_at, updated_at)
    values ('filecoin:testnet', 't2a', 1, '{}', '{}', '{}', '{}', '{}', 1, 'ERC20FIL', 'goerli-7', 'collateral', 4,
        '{}', true, ${part('94')}::json, now(), now()),
      ('filecoin:testnet', 't2b', 2, '{}', '{}', '{}', '{}', '{}', 1, null, null, null, null, '{}', false, null, now(),
        now())`.execute(db)
    await up(withoutTables(db))
    const { rows } = await sql<{ part: string | null }>`
    select part::text as part from projection.channels order by id`.execute(db)
    t.strictSame(rows, [{ part: part('goerli-7') }, { part: null }])
  },
)
