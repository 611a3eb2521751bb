import { withOtherNames } from './account-names.ts'
import { MOST_LOANS, wayOf, type IndexedWay as Way } from './activity-search.ts'
import {
  ACCOUNTS,
  AFTER,
  BEFORE,
  directionOf,
  FROM,
  HIGH,
  inOrder,
  KINDS,
  LIMIT,
  LOANS,
  LOW,
  near,
  ofKinds,
  ofLoans,
  orNull,
  TO,
  TRANSACTIONS,
  valuesOf,
  type ActivitySearch,
} from './activity-sql.ts'
import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import { IDS_PER_ENTRY, lastThatFits } from './as-of.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { firstThatFit, MORE_THAN_ANY_ID, type Direction } from './record-json.ts'

/** The accounts had too many loans for an answer as of a moment. */
export class TooManyLoans extends Error {
  override name = 'TooManyLoans'
}

/** The last position that the moment has. */
const POSITION = '$13::bigint'

/** Ids that are examined of the present and of the past rows, for each page: more than it needs where few were corrected. */
const MOST_EXAMINED = `(2 * ${LIMIT} + 200)`

/**
 * Returns the JSON answer of a search, as `searchActivity` gave it at a position of the log. A page may have few records
 * or none, and yet a `next`, where many were corrected or removed. Throws {@link TooManyLoans}.
 */
export async function searchPastActivity(
  database: Pick<ReadDatabase, 'rows'>,
  search: ActivitySearch,
  position: number,
): Promise<Found> {
  type Row = Omit<Found, 'answer'> & { answer: string | null }
  const statement = pastStatementFor(wayOf(search.filters), directionOf(search))
  const [row] = await database.rows<Row>(statement, [...valuesOf(search), position])
  if (row === undefined) throw new Error('the search has no row')
  const { answer } = row
  if (answer === null) throw new TooManyLoans(`more than ${MOST_LOANS} loans`)
  return { ...row, answer }
}

/**
 * Examines the next ids that ever matched, now or in a past row, and takes what each record said at the position. Each of
 * both examinations ends somewhere: beyond the nearer end (`edge`), nothing is known.
 */
export function pastStatementFor(way: Way, direction: Direction): Statement {
  const isUp = direction === 'asc'
  const last = isUp ? 'max(id)' : 'min(id)'
  const { now, past } = idsOf(way, direction)
  // A transaction's ids are read whole.
  const end = (ids: string): string =>
    `(select case when count(*) >= ${MOST_EXAMINED} then ${last} end from ${ids})`
  const edge =
    way === 'transactions'
      ? 'null::bigint'
      : `${isUp ? 'least' : 'greatest'}(${end('now_ids')}, ${end('past_ids')})`
  const isKnown = `(edge.id is null or one.id ${isUp ? '<=' : '>='} edge.id)`
  return {
    name: `search-past-${way}-${direction}`,
    text: `
      with bounds as materialized (${BOUNDS}),
      kinds as materialized (${KINDS}),
      ${PARTY},
      loan_keys as materialized (${way === 'loans' ? LOANS_GIVEN : 'select loan_type, loan_id from party'}),
      now_ids as materialized (${now}),
      past_ids as materialized (${past}),
      edge as materialized (select ${edge} as id),
      found as materialized (
        select record.* from (
          select distinct one.id from (select id from now_ids union all select id from past_ids) as one, edge
          where ${isKnown} order by one.id ${direction}
        ) as candidate cross join lateral (${SAID}) as record
        where record.kind in (select id from kinds) and ${orNull(LOANS, `record.loan_id = any(${LOANS})`)}
          and ${orNull(TRANSACTIONS, `record.tx_hash = any(${TRANSACTIONS})`)}
          and ${orNull(ACCOUNTS, OF_PARTY)}
        order by candidate.id ${direction} limit ${LIMIT} + 1
      ),
      shown as materialized (${firstThatFit(`select * from found order by id ${direction} limit ${LIMIT}`, direction)})
      select case when (select count(*) from listed) <= ${MOST_LOANS} then '{"status":"OK","payload":['
        || (select coalesce(string_agg(json, ',' order by id ${direction}), '') from shown) || '],"next":' || coalesce(case
          when (select count(*) from found) > (select count(*) from shown) then (select ${last} from shown)
          else (select id from edge) end::text, 'null') || '}' end as answer, ${READ_MODEL_STATE}`,
  }
}

/** Times are those of the log, whose entries have what records were made of, also of records that have gone. */
const BOUNDS = `select
  greatest(coalesce(${AFTER}, 0), case when ${FROM} is null then 0 else
    ((${lastThatFits('0::bigint', `entry.recorded_at < ${FROM}`)}) + 1) * ${IDS_PER_ENTRY} - 1 end) as low,
  least(coalesce(${BEFORE}, ${MORE_THAN_ANY_ID}), (${POSITION} + 1) * ${IDS_PER_ENTRY}, case when ${TO} is null
    then ${MORE_THAN_ANY_ID} else ((${lastThatFits('0::bigint', `entry.recorded_at <= ${TO}`)}) + 1) * ${IDS_PER_ENTRY} end) as high`

const listEntries = (table: 'loan_lists' | 'loan_lists_past', until: string): string => `(
  select id, since, ${until} as until from projection.${table} as one
  where one.list = lists.list and one.id <= ${POSITION} order by one.list desc, one.id desc limit ${MOST_LOANS + 1}
)`

/** The loans that the accounts then had. A loan's id is the position of its first entry, which names it. */
const PARTY = `
  lists as materialized (${withOtherNames(ACCOUNTS)}),
  listed as materialized (
    select entry.* from lists cross join lateral (
      ${listEntries('loan_lists', 'null::bigint')} union all ${listEntries('loan_lists_past', 'one.until')}
    ) as entry limit ${MOST_LOANS + 1}
  ),
  party as materialized (
    select distinct split_part(subject, '/', 1) as loan_type, split_part(subject, '/', 2) as loan_id
    from listed cross join lateral (
      select subject from ledger.event_log where position = listed.id limit 1
    ) as made where since <= ${POSITION} and (until is null or until > ${POSITION})
  )`

const OF_PARTY = `(record.loan_id, record.kind) in (
  select party.loan_id, kinds.id from party join kinds on kinds.loan_type = party.loan_type
)`

const LOANS_GIVEN = `
  select loan_type, loan_id from unnest(${LOANS}) as given(loan_id)
  cross join (values ('ERC20FIL'), ('FILERC20')) as market(loan_type)`

const COLUMNS = 'id, kind, tx_hash, loan_id, created_at, updated_at'

/**
 * A record at the position is the first of its past rows that ended later, else its present row. Its rows follow
 * each other from its id's position on, without gaps.
 */
const SAID = `
  select ${COLUMNS} from (
    (
      select ${COLUMNS}, until from projection.activity_past as past
      where past.id = candidate.id and past.until > ${POSITION} order by past.until limit 1
    ) union all select ${COLUMNS}, null from projection.activity as now where now.id = candidate.id
  ) as said order by until nulls last limit 1`

/** Selects ids of present and of past rows. */
function idsOf(way: Way, direction: Direction): { now: string; past: string } {
  const most = MOST_EXAMINED
  switch (way) {
    case 'all':
      return {
        now: inOrder(direction, most, { columns: 'id' }),
        past: inOrder(direction, most, { columns: 'id', table: 'activity_past' }),
      }
    case 'kinds':
      return { now: ofKinds(direction, most), past: ofKinds(direction, most, 'activity_past') }
    case 'transactions': {
      // Its few ids are read first: the range of ids alone can have any number.
      const ofHash = (table: string): string => `
        with few as materialized (
          select record.id from unnest(${TRANSACTIONS}) as given(hash)
          cross join lateral (select id from projection.${table} where tx_hash = given.hash) as record
        ) select id from few where id > ${LOW} and id < ${HIGH}`
      return { now: ofHash('activity'), past: ofHash('activity_past') }
    }
    case 'loans':
    case 'accounts':
      return {
        now: ofLoans(direction, most),
        past: `
          select near.id from (select distinct loan_id from loan_keys) as loan cross join lateral (
            ${near({ loan_id: 'loan.loan_id' }, direction, most, 'activity_past')}
          ) as near order by near.id ${direction} limit ${most}`,
      }
  }
}
