import type { ReadDatabase, Statement } from './read-database.ts'
import { recordsJson, recordsOf } from './record-json.ts'

const COLUMNS = {
  loanId: 'loan_id',
  loanType: 'loan_type',
  event: 'event',
  blockchain: 'blockchain',
  networkId: 'network_id',
  txHash: 'tx_hash',
} as const
/** What a record's kind says for it. */
const FILTERS_OF_KIND = ['loanType', 'event', 'blockchain', 'networkId'] as const

export type ActivityFilter = keyof typeof COLUMNS
export const ACTIVITY_FILTERS = Object.keys(COLUMNS) as ActivityFilter[]
type Conditions = Partial<Record<ActivityFilter, string>>

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
  const conditions: Conditions = Object.fromEntries(
    filters.map((name, index) => [name, `${COLUMNS[name]} = $${index + 2}::text`]),
  )
  const ofKind = FILTERS_OF_KIND.flatMap((name) => conditions[name] ?? [])
  const earlier = before ? [`id < $${filters.length + 2}::bigint`] : []
  return {
    name: `search-${filters.join('-')}${before ? '-before' : ''}`,
    // One record more than asked for tells whether another page follows.
    text: `
      with kinds as materialized (select id from projection.record_kinds ${where(ofKind)}),
      found as materialized (
        select * from (${candidates(conditions, ofKind, earlier)}) as candidate order by id desc limit $1::bigint + 1
      ), shown as (${recordsOf('select * from found order by id desc limit $1::bigint')})
      select '{"status":"OK","payload":[' || (select ${recordsJson('desc')} from shown as record) || '],"next":'
        || case when (select count(*) from found) > $1::bigint then (select min(id) from shown)::text else 'null' end
        || '}' as answer`,
  }
}

/** Rows of which the newest are the answer; by whichever index has the fewest to look at. */
function candidates(own: Conditions, ofKind: string[], earlier: string[]): string {
  const isOfKinds = ofKind.length === 0 ? [] : ['kind in (select id from kinds)']
  // A transaction has few records: its index has no order, and all of them are read.
  if (own.txHash !== undefined) {
    const rest = [own.loanId ?? [], isOfKinds, earlier].flat()
    return `
      with few as materialized (select * from projection.activity ${where([own.txHash])})
      select * from few ${where(rest)}`
  }
  if (own.loanId !== undefined) return newest([own.loanId, ...isOfKinds, ...earlier])
  if (ofKind.length === 0) return newest(earlier)
  // Of each kind the newest, however rare it is.
  return `
    select record.* from kinds cross join lateral (${newest(['kind = kinds.id', ...earlier])}) as record`
}

function newest(conditions: string[]): string {
  return `select * from projection.activity ${where(conditions)} order by id desc limit $1::bigint + 1`
}

function where(conditions: string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}
