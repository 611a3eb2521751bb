import { sql } from 'kysely'
import t from 'tap'
import { up as first } from '../../../migrations/2026-11-21-event-log-and-read-model.ts'
import { up as second } from '../../../migrations/2026-11-21-loans-by-their-own-columns.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'

const HASH = `0x${'a1'.repeat(32)}`

async function putLoan(db: Db, loanId: string, part: object): Promise<void> {
  await sql`insert into projection.loans (loan_type, loan_id, id, network, state, evm_part, last_block, last_log_index,
    created_at, updated_at) values ('ERC20FIL', ${loanId}, ${Number(loanId)}, 'evm:1', '1', ${JSON.stringify(part)}::json,
    1, 0, now(), now())`.execute(db)
}

void t.test('loans that were written before are found by what ties a channel to them', async (t) => {
  const { db } = await testDatabase(t, { migrated: false })
  const anyDb = withoutTables(db)
  await first(anyDb)
  await putLoan(db, '1', { contractLoanId: '7', secretHashA1: HASH, secretHashB1: null })
  await putLoan(db, '2', { contractLoanId: '8', secretHashA1: null, secretHashB1: HASH })
  await sql`create schema projection_next`.execute(db)
  await second(anyDb)
  const { rows } = await sql`select loan_id, secret_hash_a1, secret_hash_b1, contract_loan_id
    from projection.loans order by loan_id`.execute(db)
  t.strictSame(rows, [
    { loan_id: '1', secret_hash_a1: HASH, secret_hash_b1: null, contract_loan_id: '7' },
    { loan_id: '2', secret_hash_a1: null, secret_hash_b1: HASH, contract_loan_id: '8' },
  ])
  const { rows: left } = await sql`select 1 from pg_namespace where nspname = 'projection_next'`.execute(db)
  t.strictSame(left, [], 'a read model of the old shape is not gone on with')
})
