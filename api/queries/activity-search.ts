import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { MORE_THAN_ANY_ID, newestOfLoan, newestThatFit } from './record-json.ts'

const COLUMNS = {
  loanId: 'loan_id',
  loanType: 'loan_type',
  event: 'event',
  blockchain: 'blockchain',
  networkId: 'network_id',
  txHash: 'tx_hash',
} as const
/** Filters that depend on a record's kind alone. */
const FILTERS_OF_KIND = ['loanType', 'event', 'blockchain', 'networkId'] as const

export type ActivityFilter = keyof typeof COLUMNS
const ACTIVITY_FILTERS = Object.keys(COLUMNS) as ActivityFilter[]
/** The SQL parameter of each given filter. */
type Parameters = Partial<Record<ActivityFilter, string>>

export interface ActivitySearch {
  /** Only records with a smaller id match. */
  before?: string | undefined
  limit: number
  filters: Partial<Record<ActivityFilter, string | undefined>>
}

/**
 * Returns the JSON answer, newest first: up to `limit` records, or fewer where they would exceed an answer's size.
 * `next` is the `before` of the following page, null on the last page.
 */
export async function searchActivity(database: ReadDatabase, search: ActivitySearch): Promise<Found> {
  const filters = ACTIVITY_FILTERS.filter((name) => search.filters[name] !== undefined)
  const values = [search.limit, ...filters.map((name) => search.filters[name])]
  const before = search.before === undefined ? [] : [search.before]
  const statement = statementFor(filters, before.length > 0)
  const [row] = await database.rows<Found>(statement, [...values, ...before])
  if (row === undefined) throw new Error('the search has no row')
  return row
}

/**
 * Each set of filters has its own statement and prepared plan, because one plan for all would suit none. Raw SQL:
 * Postgres bounds the answer by its bytes, so it writes the text (record-json.ts).
 */
export function statementFor(filters: ActivityFilter[], before: boolean): Statement {
  const parameters: Parameters = Object.fromEntries(
    filters.map((name, index) => [name, `$${index + 2}::text`]),
  )
  const ofKind = FILTERS_OF_KIND.flatMap((name) => conditionOn(name, parameters))
  const end = before ? `$${filters.length + 2}::bigint` : null
  return {
    name: `search-${filters.join('-')}${before ? '-before' : ''}`,
    // One record more than requested shows whether another page follows.
    text: `
      with kinds as materialized (select id from projection.record_kinds ${where(ofKind)}),
      found as materialized (
        select * from (${candidates(parameters, ofKind, end)}) as candidate order by id desc limit $1::bigint + 1
      ), shown as materialized (${newestThatFit('select * from found order by id desc limit $1::bigint')})
      select '{"status":"OK","payload":[' || (select coalesce(string_agg(json, ',' order by id desc), '') from shown)
        || '],"next":' || case when (select count(*) from found) > (select count(*) from shown)
          then (select min(id) from shown)::text else 'null' end || '}' as answer, ${READ_MODEL_STATE}`,
  }
}

/**
 * Selects rows whose newest are the answer. Only one index fits the statement: the planner could choose wrongly, since its
 * statistics may be missing or describe another value. A transaction has few records, so they are read whole.
 */
function candidates(parameters: Parameters, ofKind: string[], before: string | null): string {
  const earlier = before === null ? [] : [`id < ${before}`]
  if (parameters.txHash !== undefined) {
    const isOfKind = ofKind.length === 0 ? [] : ['kind in (select id from kinds)']
    return `
      with few as materialized (select * from projection.activity ${where(conditionOn('txHash', parameters))})
      select * from few ${where([...conditionOn('loanId', parameters), ...isOfKind, ...earlier])}`
  }
  if (parameters.loanId !== undefined) {
    const limit = '$1::bigint + 1'
    return newestOfLoan({ loan: parameters.loanId, before: before ?? MORE_THAN_ANY_ID, limit })
  }
  if (ofKind.length === 0) {
    return `select * from projection.activity ${where(earlier)} order by id desc limit $1::bigint + 1`
  }
  // Selects the newest ids of each kind, however rare it is, in an order that only this index has.
  return `
    select * from projection.activity where id = any(array(
      select newest.id from kinds cross join lateral (
        select id from projection.activity
        where kind >= kinds.id and (kind, id) < (kinds.id, ${before ?? MORE_THAN_ANY_ID})
        order by kind desc, id desc limit $1::bigint + 1
      ) as newest order by newest.id desc limit $1::bigint + 1
    ))`
}

function where(conditions: string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}

function conditionOn(name: ActivityFilter, parameters: Parameters): string[] {
  const parameter = parameters[name]
  return parameter === undefined ? [] : [`${COLUMNS[name]} = ${parameter}`]
}
