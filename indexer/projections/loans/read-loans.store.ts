import { sql } from 'kysely'
import type { Db } from '../../../shared/db/connect.ts'
import type { Trx } from '../../../shared/db/transaction.ts'
import { LIVE_SCHEMA } from '../projection.ts'

export interface ListedLoan {
  id: number
  loanType: 'ERC20FIL' | 'FILERC20'
  loanId: string
  part: Record<string, string | null>
}

/** Loans of one network, by id, after `afterId`. */
export async function getLoansAfter(
  db: Db | Trx,
  network: string,
  afterId: number,
  limit: number,
): Promise<ListedLoan[]> {
  const { rows } = await sql<ListedLoan>`
    select id, loan_type as "loanType", loan_id as "loanId", evm_part as part from ${sql.table(`${LIVE_SCHEMA}.loans`)}
    where network = ${network} and id > ${afterId} order by id limit ${limit}`.execute(db)
  return rows
}
