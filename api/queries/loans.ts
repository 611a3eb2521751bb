import type { LoanType } from '../../shared/events/chain-event.ts'
import { MOST_LOAN_EVENTS } from '../schemas/activity.ts'
import { READ_MODEL_VERSION, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, MORE_THAN_ANY_ID, newestOfLoan, newestThatFit } from './record-json.ts'

/** Names of the parts in each market's lookup: the contract's half, then the Filecoin halves. */
const PARTS: Record<LoanType, { contract: string; filecoin: { name: string; role: string }[] }> = {
  ERC20FIL: { contract: 'erc20Loan', filecoin: [{ name: 'filCollateral', role: 'collateral' }] },
  FILERC20: {
    contract: 'collateralLock',
    filecoin: [
      { name: 'filLoan', role: 'principal' },
      { name: 'filPayback', role: 'payback' },
    ],
  },
}

/** Records of one loan counted at most, which takes a tenth of a second of database time. */
const MOST_COUNTED = 1_000_000

/** Bytes of JSON per field: contracts and vouchers may carry any bytes. A longer value is shown as unknown. */
const MOST_FIELD_BYTES = 64 * 1024

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
  const { contract, filecoin } = PARTS[loanType]
  const contractHalf = part(
    'loan',
    'to_json(loan.loan_id)::text',
    `case field.key when 'state' then coalesce(to_json(loan.derived_state), field.value) else field.value end`,
    'evm_part',
  )
  const filecoinHalves = filecoin.map(
    ({ name, role }) => `'"${name}":' || coalesce((
          select ${part('channel', `'"' || channel.id || '"'`, 'field.value', 'part')} from projection.channels as channel
          where channel.loan_type = '${loanType}' and channel.loan_id = $1::text and channel.role = '${role}'
            and channel.shown
        ), '{}') || ',' ||`,
  )
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
      select '{"status":"OK","payload":{"${contract}":' || ${contractHalf} || ',' || ${filecoinHalves.join(' ')}
        '"loanEvents":[' || (select coalesce(string_agg(json, ',' order by id), '') from shown)
        || '],"loanEventsTotal":' || (select records from total) || '}}' as answer, ${READ_MODEL_VERSION} as version
      from projection.loans as loan
      where loan.loan_type = '${loanType}' and loan.loan_id = $1::text`,
  }
}

/** Writes a part as JSON text: its id, the fields of its JSON column (each through `shown`), and its row's times. */
function part(row: string, id: string, shown: string, column: string): string {
  return `'{"id":' || ${id} || (
          select coalesce(string_agg(',' || to_json(key)::text || ':'
            || case when octet_length(value) > ${MOST_FIELD_BYTES} then 'null' else value end, '' order by place), '')
          from (
            select field.key, (${shown})::text as value, field.place
            from json_each(${row}.${column}) with ordinality as field(key, value, place)
          ) as fields
        ) || ',"createdAt":"' || ${isoTime(`${row}.created_at`)} || '","updatedAt":"' || ${isoTime(`${row}.updated_at`)} || '"}'`
}
