import type { LoanType } from '../../shared/events/chain-event.ts'
import { MOST_LOAN_EVENTS } from '../schemas/activity.ts'
import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { CONTRACT_HALF, channelHalf } from './loan-json.ts'
import { MORE_THAN_ANY_ID, newestOfLoan, newestThatFit } from './record-json.ts'

/** Records of one loan counted at most, which takes a tenth of a second of database time. */
export const MOST_COUNTED = 1_000_000

/** The payload of each market's lookup before its records: the contract's half, then the Filecoin halves. */
const PARTS: Record<LoanType, string> = {
  ERC20FIL: `'"erc20Loan":' || ${CONTRACT_HALF} || ',"filCollateral":' || ${channelHalf('collateral')}`,
  FILERC20: `'"collateralLock":' || ${CONTRACT_HALF} || ',"filLoan":' || ${channelHalf('principal')}
        || ',"filPayback":' || ${channelHalf('payback')}`,
}

export const LOOKUPS: Record<LoanType, Statement> = {
  ERC20FIL: lookup('ERC20FIL'),
  FILERC20: lookup('FILERC20'),
}

/** Returns the JSON answer of a loan's lookup, or undefined when the loan does not exist. */
export async function findLoan(
  database: ReadDatabase,
  loanType: LoanType,
  loanId: string,
): Promise<Found | undefined> {
  const [row] = await database.rows<Found>(LOOKUPS[loanType], [loanId])
  return row
}

/**
 * Raw SQL because this path is hot: Postgres writes the whole answer as text (record-json.ts). Parts are `json` and
 * keep their fields' order, with `id` before them and the two times after. A missing Filecoin part is {}. Records are
 * counted only for a loan that has more of them than are shown.
 */
function lookup(loanType: LoanType): Statement {
  const newest = newestOfLoan({
    loan: '$1::text',
    before: MORE_THAN_ANY_ID,
    limit: `${MOST_LOAN_EVENTS + 1}`,
  })
  return {
    name: `loan-${loanType}`,
    text: `
      with kinds as materialized (select id from projection.record_kinds where loan_type = '${loanType}'),
      found as materialized (${newest}),
      shown as materialized (${newestThatFit(`select * from found order by id desc limit ${MOST_LOAN_EVENTS}`)}),
      total as (
        select case when count(*) <= ${MOST_LOAN_EVENTS} then count(*) else (
          select count(*) from (
            select from kinds join projection.activity as record on record.kind = kinds.id
            where record.loan_id = $1::text limit ${MOST_COUNTED}
          ) as counted
        ) end as records from found
      )
      select '{"status":"OK","payload":{' || ${PARTS[loanType]}
        || ',"loanEvents":[' || (select coalesce(string_agg(json, ',' order by id), '') from shown)
        || '],"loanEventsTotal":' || (select records from total) || '}}' as answer, ${READ_MODEL_STATE}
      from projection.loans as loan
      where loan.loan_type = '${loanType}' and loan.loan_id = $1::text`,
  }
}
