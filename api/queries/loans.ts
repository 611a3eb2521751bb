import type { LoanType } from '../../shared/events/chain-event.ts'
import { READ_MODEL_VERSION, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, recordsJson } from './record-json.ts'

/** How a market's lookup names its parts: the contract's half, then the Filecoin halves. */
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

/** By the loan's own index, whatever the planner thinks of its market: statistics may be missing. */
function recordsOfLoan(loanType: LoanType): string {
  return `
    with of_loan as materialized (select * from projection.activity where loan_id = $1::text)
    select * from of_loan where kind in (select id from projection.record_kinds where loan_type = '${loanType}')`
}

export const LOOKUPS: Record<LoanType, Statement> = {
  ERC20FIL: lookup('ERC20FIL'),
  FILERC20: lookup('FILERC20'),
}

/** The JSON answer of a loan's lookup, or undefined when there is no such loan. */
export async function findLoan(
  database: ReadDatabase,
  loanType: LoanType,
  loanId: string,
): Promise<Found | undefined> {
  const [row] = await database.rows<Found>(LOOKUPS[loanType], [loanId])
  return row
}

/**
 * Parts are `json` and keep their fields' order; `id` goes before them and the two times after. A Filecoin part that
 * does not exist is {}.
 */
function lookup(loanType: LoanType): Statement {
  const { contract, filecoin } = PARTS[loanType]
  const contractHalf = part(
    'loan',
    `case field.key when 'state' then coalesce(to_json(loan.derived_state), field.value) else field.value end`,
    'evm_part',
  )
  const filecoinHalves = filecoin.map(
    ({ name, role }) => `'"${name}":' || coalesce((
          select ${part('channel', 'field.value', 'part')} from projection.channels as channel
          where channel.loan_type = '${loanType}' and channel.loan_id = $1::text and channel.role = '${role}'
            and channel.shown
        ), '{}') || ',' ||`,
  )
  return {
    name: `loan-${loanType}`,
    text: `
      select '{"status":"OK","payload":{"${contract}":' || ${contractHalf} || ',' || ${filecoinHalves.join(' ')}
        '"loanEvents":[' || (${recordsJson(recordsOfLoan(loanType), 'asc')}) || ']}}' as answer, ${READ_MODEL_VERSION} as version
      from projection.loans as loan
      where loan.loan_type = '${loanType}' and loan.loan_id = $1::text`,
  }
}

/** A part as JSON text: its row's id, the fields of the JSON column (each shown as `shown`), its row's times. */
function part(row: string, shown: string, column: string): string {
  return `'{"id":"' || ${row}.id || '"' || (
          select coalesce(string_agg(',' || to_json(field.key)::text || ':' || (${shown})::text, '' order by place), '')
          from json_each(${row}.${column}) with ordinality as field(key, value, place)
        ) || ',"createdAt":"' || ${isoTime(`${row}.created_at`)} || '","updatedAt":"' || ${isoTime(`${row}.updated_at`)} || '"}'`
}
