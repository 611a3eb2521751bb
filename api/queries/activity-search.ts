import type { ReadDatabase, Statement } from './read-database.ts'
import { RECORD_FIELDS, recordsJson } from './record-json.ts'

const COLUMNS = {
  loanId: 'loan_id',
  loanType: 'loan_type',
  event: 'event',
  blockchain: 'blockchain',
  networkId: 'network_id',
  txHash: 'tx_hash',
} as const

export type ActivityFilter = keyof typeof COLUMNS
export const ACTIVITY_FILTERS = Object.keys(COLUMNS) as ActivityFilter[]

export interface ActivitySearch {
  /** Only records with a smaller id. */
  before?: string | undefined
  limit: number
  filters: Partial<Record<ActivityFilter, string>>
}

/** The JSON answer: newest first; `next` is the `before` of the following page, null when this is the last. */
export async function searchActivity(database: ReadDatabase, search: ActivitySearch): Promise<string> {
  const filters = ACTIVITY_FILTERS.filter((name) => search.filters[name] !== undefined)
  const values = [search.limit, ...filters.map((name) => search.filters[name])]
  const before = search.before === undefined ? [] : [search.before]
  const statement = statementFor(filters, before.length > 0)
  const [row] = await database.rows<{ answer: string }>(statement, [...values, ...before])
  if (row === undefined) throw new Error('the search has no row')
  return row.answer
}

/** One statement, and one prepared plan, for each set of filters: a plan for all of them would serve none well. */
function statementFor(filters: ActivityFilter[], before: boolean): Statement {
  const conditions = filters.map((name, index) => `${COLUMNS[name]} = $${index + 2}::text`)
  // Says nothing new, but the index of a loan's records begins with its type.
  if (filters.includes('loanId') && !filters.includes('loanType'))
    conditions.push(`loan_type in ('ERC20FIL', 'FILERC20')`)
  if (before) conditions.push(`id < $${filters.length + 2}::bigint`)
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  return {
    name: `search-${filters.join('-')}${before ? '-before' : ''}`,
    // One record more than asked for tells whether another page follows.
    text: `
      with found as materialized (
        select ${RECORD_FIELDS} from projection.activity ${where} order by id desc limit $1::bigint + 1
      ), shown as (select * from found order by id desc limit $1::bigint)
      select '{"status":"OK","payload":[' || (select ${recordsJson('desc')} from shown as record) || '],"next":'
        || case when (select count(*) from found) > $1::bigint then (select min(id) from shown)::text else 'null' end
        || '}' as answer`,
  }
}
