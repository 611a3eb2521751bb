import type { Direction } from './record-json.ts'

/** A record fits a filter if it has any of its values. */
export interface ActivityFilters {
  loanId?: string[] | undefined
  loanType?: string[] | undefined
  event?: string[] | undefined
  blockchain?: string[] | undefined
  networkId?: string[] | undefined
  txHash?: string[] | undefined
  /** As lists have them (shared/events/loan-lists.ts): records of the loans that one of the accounts borrows or lends. */
  account?: string[] | undefined
}

export interface ActivitySearch {
  /** Only records with a smaller id match. */
  before?: string | undefined
  /** Only records with a larger id match. The answer is then oldest first. */
  after?: string | undefined
  /** ISO times: only records with a `createdAt` between them match, both included. */
  from?: string | undefined
  to?: string | undefined
  limit: number
  filters: ActivityFilters
}

export function directionOf({ after }: Pick<ActivitySearch, 'after'>): Direction {
  return after === undefined ? 'desc' : 'asc'
}

/** SQL of the parameters that {@link valuesOf} gives. */
export const LIMIT = '$1::bigint'
export const [BEFORE, AFTER] = ['$2::bigint', '$3::bigint']
export const [FROM, TO] = ['$4::timestamptz', '$5::timestamptz']
const OF_KIND = {
  loan_type: '$6::text[]',
  event: '$7::text[]',
  blockchain: '$8::text[]',
  network_id: '$9::text[]',
}
export const [LOANS, TRANSACTIONS, ACCOUNTS] = ['$10::text[]', '$11::text[]', '$12::text[]']

export function valuesOf({ limit, before, after, from, to, filters }: ActivitySearch): unknown[] {
  const { loanType, event, blockchain, networkId, loanId, txHash, account } = filters
  const bounds = [before, after, from, to]
  const values = [loanType, event, blockchain, networkId, loanId, txHash, account]
  return [limit, ...[...bounds, ...values].map((value) => value ?? null)]
}

/** The ids between which records match, both excluded. Statements have a CTE `bounds`. */
export const LOW = '(select low from bounds)'
export const HIGH = '(select high from bounds)'

/** Passes where a filter is not given. */
export function orNull(given: string, condition: string): string {
  return `(${given} is null or ${condition})`
}

const kindConditions = Object.entries(OF_KIND).map(([column, given]) =>
  orNull(given, `${column} = any(${given})`),
)

/** Selects the kinds that match. Statements have a CTE `kinds` with them. */
export const KINDS = `select id, loan_type from projection.record_kinds where ${kindConditions.join(' and ')}`

/** Present rows of records, or past ones: from before they were corrected or removed. */
type RecordTable = 'activity' | 'activity_past'

/**
 * A pair of plain comparisons would count as so rare that a planner without statistics reads and sorts the whole range. A
 * comparison of rows has the same meaning and no partner.
 */
export function inOrder(
  direction: Direction,
  limit: string,
  { columns = '*', table = 'activity' }: { columns?: string; table?: RecordTable } = {},
): string {
  const range = `(id, id) > (${LOW}, ${LOW}) and id < ${HIGH}`
  return `select ${columns} from projection.${table} where ${range} order by id ${direction} limit ${limit}`
}

export function byIds(ids: string, columns = '*'): string {
  return `select ${columns} from projection.activity where id = any(array(${ids}))`
}

/** Selects the next ids of each kind, however rare it is. */
export function ofKinds(direction: Direction, limit: string, table: RecordTable = 'activity'): string {
  return `
    select near.id from kinds cross join lateral (${near({ kind: 'kinds.id' }, direction, limit, table)}) as near
    order by near.id ${direction} limit ${limit}`
}

/**
 * Selects the next ids of each loan of a CTE `loan_keys`, kind by kind. The other market's loan of the same number may
 * have any number of records.
 */
export function ofLoans(direction: Direction, limit: string): string {
  const key = { loan_id: 'loan_keys.loan_id', kind: 'kinds.id' }
  return `
    select near.id from loan_keys join kinds on kinds.loan_type = loan_keys.loan_type
    cross join lateral (${near(key, direction, limit)}) as near
    order by near.id ${direction} limit ${limit}`
}

/** The order over all columns is that of one index, so the planner cannot choose another. */
export function near(
  key: Record<string, string>,
  direction: Direction,
  limit: string,
  table: RecordTable = 'activity',
): string {
  const columns = [...Object.keys(key), 'id']
  const values = Object.values(key).join()
  return `
    select id from projection.${table}
    where (${columns.join()}) > (${values}, ${LOW}) and (${columns.join()}) < (${values}, ${HIGH})
    order by ${columns.map((column) => `${column} ${direction}`).join()} limit ${limit}`
}
