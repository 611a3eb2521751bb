import { sql } from 'kysely'
import type { Db } from '../../../shared/db/connect.ts'
import type { Trx } from '../../../shared/db/transaction.ts'
import { MOST_COUNTED } from '../../../shared/indexing-health.ts'
import { LIVE_SCHEMA } from '../projection.ts'

export interface ListedLoan {
  id: number
  loanType: 'ERC20FIL' | 'FILERC20'
  loanId: string
  part: Record<string, string | null>
  /** Decimals from the event that opened the loan; null if the token has none. */
  tokenDecimals: number | null
  /** Whether the opening event was read; if not, the fields that only it has are null. */
  isBeginningRead: boolean
}

/** Loans of one network with ids above `afterId`, in id order. */
export async function getLoansAfter(
  db: Db | Trx,
  network: string,
  afterId: number,
  limit: number,
): Promise<ListedLoan[]> {
  const { rows } = await sql<ListedLoan>`
    select id, loan_type as "loanType", loan_id as "loanId", evm_part as part, (
      select (made.body->>'tokenDecimals')::integer from ledger.event_log made
      where made.subject = loan_type || '/' || loan_id and made.op <> 'retract'
        and made.kind in ('CreateLoanOffer', 'CreateBorrowRequest')
      order by made.position desc limit 1) as "tokenDecimals", opened_s is not null as "isBeginningRead"
    from ${sql.table(`${LIVE_SCHEMA}.loans`)}
    where network = ${network} and id > ${afterId} order by id limit ${limit}`.execute(db)
  return rows
}

/**
 * Counts up to MOST_COUNTED + 1 loans. Rejects after two seconds, for example while a replay's switch locks the table.
 */
export async function countLoansWithoutBeginning(db: Db, network: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    await sql`set local statement_timeout = '2s'`.execute(trx)
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from (
        select from ${sql.table(`${LIVE_SCHEMA}.loans`)}
        where network = ${network} and opened_s is null limit ${MOST_COUNTED + 1}
      ) found`.execute(trx)
    return rows[0]?.count ?? 0
  })
}
