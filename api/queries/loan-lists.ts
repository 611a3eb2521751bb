import type { LoanType } from '../../shared/events/chain-event.ts'
import { withOtherNames } from './account-names.ts'
import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import { CONTRACT_HALF, channelHalf, object } from './loan-json.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { MORE_THAN_ANY_ID } from './record-json.ts'

/** One page of the loans in any of these lists (shared/events/loan-lists.ts), the newest loan first. */
export interface LoanPage {
  lists: string[]
  /** Only loans with a smaller id. */
  before?: string | undefined
  limit: number
}

/** Bytes of JSON after which a page takes no further loan. */
export const MOST_BYTES = 1024 * 1024

/** Raw SQL: Postgres bounds a page by its bytes, so it writes the text (record-json.ts). */
const ORDERS: Statement = {
  name: 'orders',
  text: page(CONTRACT_HALF, `'[' || coalesce(string_agg(json, ',' order by id desc), '') || ']'`),
}

const part = (field: string): string => `loan.evm_part->>'${field}'`
const STATE = `coalesce(loan.derived_state, ${part('state')})`

/** The fields that a list of one's loans shows, beside the whole parts. */
const ENTRIES: Record<LoanType, string> = {
  ERC20FIL: object(
    {
      id: 'loan.loan_id',
      principalAmount: part('principalAmount'),
      interestAmount: part('interestAmount'),
      borrower: part('borrower'),
      lender: part('lender'),
      token: part('token'),
      networkId: part('networkId'),
      state: STATE,
    },
    { erc20Loan: CONTRACT_HALF, filCollateral: channelHalf('collateral') },
  ),
  FILERC20: object(
    {
      id: 'loan.loan_id',
      principalAmount: `coalesce(principal.part->>'principalAmount', ${part('principalAmount')})`,
      network: `principal.part->>'network'`,
      ethBorrower: part('borrower'),
      ethLender: part('lender'),
      state: `principal.part->>'state'`,
    },
    {
      collateralLock: CONTRACT_HALF,
      filLoan: channelHalf('principal'),
      filPayback: channelHalf('payback'),
    },
  ),
}

const ACCOUNT: Statement = {
  name: 'loans-of-account',
  text: page(
    `case loan.loan_type when 'ERC20FIL' then ${ENTRIES.ERC20FIL} else (
      select ${ENTRIES.FILERC20} from (select) as one left join projection.channels as principal
        on principal.loan_type = loan.loan_type and principal.loan_id = loan.loan_id and principal.role = 'principal'
        and principal.shown
    ) end`,
    `'{"filLoans":[' || coalesce(string_agg(json, ',' order by id desc) filter (where loan_type = 'FILERC20'), '')
      || '],"erc20Loans":[' || coalesce(string_agg(json, ',' order by id desc) filter (where loan_type = 'ERC20FIL'), '')
      || ']}'`,
  ),
}

/** Returns the JSON answer of a page of borrow requests or loan offers. */
export function findOrders(database: ReadDatabase, page: LoanPage): Promise<Found> {
  return findPage(database, ORDERS, page)
}

/** Returns the JSON answer of a page of an account's loans. All names of one Filecoin identity give the same. */
export function findLoansOfAccount(database: ReadDatabase, page: LoanPage): Promise<Found> {
  return findPage(database, ACCOUNT, page)
}

async function findPage(
  database: ReadDatabase,
  statement: Statement,
  { lists, before, limit }: LoanPage,
): Promise<Found> {
  const [row] = await database.rows<Found>(statement, [lists, before ?? null, limit])
  if (row === undefined) throw new Error('a page of loans has no row')
  return row
}

/**
 * Reads the newest entries of each list by the primary key, then the loans by their ids. LIMIT and the order over both
 * columns leave one index. `entry` is the JSON of a row `loan`, `payload` joins `json` of rows with `id` and `loan_type`.
 */
function page(entry: string, payload: string): string {
  return `
    with wanted as materialized (${withOtherNames('$1::text[]')}
    ), listed as materialized (
      select distinct newest.id from wanted cross join lateral (
        select id from projection.loan_lists as entry
        where entry.list = wanted.list and entry.id < coalesce($2::bigint, ${MORE_THAN_ANY_ID})
        order by entry.list desc, entry.id desc limit $3::bigint + 1
      ) as newest order by newest.id desc limit $3::bigint + 1
    ), written as materialized (
      select loan.id, loan.loan_type, ${entry} as json
      from (select id from listed order by id desc limit $3::bigint) as one cross join lateral (
        select * from projection.loans where loans.id = one.id limit 1
      ) as loan
    ), shown as materialized (
      select * from (
        select *, sum(octet_length(json)) over (order by id desc) as bytes, row_number() over (order by id desc) as nth
        from written
      ) as measured where bytes <= ${MOST_BYTES} or nth = 1
    )
    select '{"status":"OK","payload":' || ${payload} || ',"next":' || case
        when (select count(*) from listed) > count(*) then min(id)::text else 'null' end || '}' as answer,
      ${READ_MODEL_STATE}
    from shown`
}

/** Both statements, for tests of their plans. */
export const LOAN_LISTS = { orders: ORDERS, account: ACCOUNT }
