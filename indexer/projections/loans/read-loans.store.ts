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
  /** As the log knows them of the event that made the loan; null when the token has none. */
  tokenDecimals: number | null
  /** Whether the event that made it was read; if not, what only that event tells is null. */
  isBeginningRead: boolean
}

/** Loans of one network, by id, after `afterId`. */
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

/** At most MOST_COUNTED + 1. Rejects after two seconds, as while a replay's switch holds the table. */
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
