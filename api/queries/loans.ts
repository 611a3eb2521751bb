import type { LoanType } from '../../shared/events/chain-event.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, RECORD_FIELDS, recordsJson } from './record-json.ts'

/** How a market's lookup names its parts: the contract's half, then the Filecoin halves. */
const PARTS: Record<LoanType, { contract: string; filecoin: string[] }> = {
  ERC20FIL: { contract: 'erc20Loan', filecoin: ['filCollateral'] },
  FILERC20: { contract: 'collateralLock', filecoin: ['filLoan', 'filPayback'] },
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
): Promise<string | undefined> {
  const [row] = await database.rows<{ answer: string }>(LOOKUPS[loanType], [loanId])
  return row?.answer
}

/**
 * evm_part is `json` and keeps its fields' order; `id` goes before them and the two times after. A Filecoin part
 * that does not exist is {}.
 */
function lookup(loanType: LoanType): Statement {
  const { contract, filecoin } = PARTS[loanType]
  const empty = filecoin.map((part) => `"${part}":{},`).join('')
  return {
    name: `loan-${loanType}`,
    text: `
      select '{"status":"OK","payload":{"${contract}":{"id":"' || loan.id || '"' || (
          select coalesce(string_agg(',' || to_json(key)::text || ':' || value::text, '' order by place), '')
          from json_each(loan.evm_part) with ordinality as field(key, value, place)
        ) || ',"createdAt":"' || ${isoTime('loan.created_at')}
          || '","updatedAt":"' || ${isoTime('loan.updated_at')} || '"},${empty}"loanEvents":[' || (
          select ${recordsJson('asc')} from (
            select ${RECORD_FIELDS} from projection.activity
            where loan_type = '${loanType}' and loan_id = $1::text
          ) as record
        ) || ']}}' as answer
      from projection.loans as loan
      where loan.loan_type = '${loanType}' and loan.loan_id = $1::text`,
  }
}
