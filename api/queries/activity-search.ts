import { withOtherNames } from './account-names.ts'
import {
  ACCOUNTS,
  AFTER,
  BEFORE,
  byIds,
  directionOf,
  FROM,
  HIGH,
  inOrder,
  KINDS,
  LIMIT,
  LOANS,
  LOW,
  ofKinds,
  ofLoans,
  orNull,
  TO,
  TRANSACTIONS,
  valuesOf,
  type ActivityFilters,
  type ActivitySearch,
} from './activity-sql.ts'
import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import { IDS_PER_ENTRY } from './as-of.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { firstThatFit, MORE_THAN_ANY_ID, type Direction } from './record-json.ts'

/** Loans of the given accounts at most that a page looks at one by one. */
export const MOST_LOANS = 1_000
/** Records that a page examines for accounts: those with more loans than that, and those of a transaction. */
export const MOST_EXAMINED = 5_000

/** The index by which a page is found. */
export const INDEXED_WAYS = ['all', 'kinds', 'loans', 'transactions', 'accounts'] as const
export type IndexedWay = (typeof INDEXED_WAYS)[number]

/** A window examines records one by one, with or without filters on their kind. */
export const WAYS = [...INDEXED_WAYS, 'window', 'window-of-kinds'] as const
export type Way = (typeof WAYS)[number]

/**
 * Returns the JSON answer: up to `limit` records, or fewer where they would exceed an answer's size. `next` continues
 * the list as `before`, or as `after` where that was given; null on the last page.
 */
export async function searchActivity(
  database: Pick<ReadDatabase, 'rows'>,
  search: ActivitySearch,
): Promise<Found> {
  const direction = directionOf(search)
  const values = valuesOf(search)
  const ask = async (way: Way): Promise<Found | null> => {
    type Row = Omit<Found, 'answer'> & { answer: string | null }
    const [row] = await database.rows<Row>(statementFor(way, direction), values)
    if (row === undefined) throw new Error('the search has no row')
    const { answer } = row
    return answer === null ? null : { ...row, answer }
  }
  // No answer: the accounts have too many loans.
  const found =
    (await ask(wayOf(search.filters))) ??
    (await ask(hasFilterOfKind(search.filters) ? 'window-of-kinds' : 'window'))
  if (found === null) throw new Error('a window has an answer')
  return found
}

export function wayOf(filters: ActivityFilters): IndexedWay {
  if (filters.txHash !== undefined) return 'transactions'
  if (filters.loanId !== undefined) return 'loans'
  if (filters.account !== undefined) return 'accounts'
  return hasFilterOfKind(filters) ? 'kinds' : 'all'
}

function hasFilterOfKind({ loanType, event, blockchain, networkId }: ActivityFilters): boolean {
  return [loanType, event, blockchain, networkId].some((values) => values !== undefined)
}

/**
 * Each way has its own prepared plan, because one plan for all would suit none. Few ways keep the plans of a connection
 * few. Raw SQL: Postgres bounds the answer by its bytes, so it writes the text (record-json.ts).
 */
export function statementFor(way: Way, direction: Direction): Statement {
  const last = direction === 'asc' ? 'max(id)' : 'min(id)'
  const examines = way === 'window' || way === 'window-of-kinds' || way === 'transactions'
  const rest = examines
    ? `when (select count(*) from examined) >= ${MOST_EXAMINED} then (select ${last} from examined)::text`
    : ''
  // One record more than requested shows whether another page follows.
  const answer = `'{"status":"OK","payload":['
    || (select coalesce(string_agg(json, ',' order by id ${direction}), '') from shown) || '],"next":' || case
      when (select count(*) from found) > (select count(*) from shown) then (select ${last} from shown)::text ${rest}
      else 'null' end || '}'`
  return {
    name: `search-${way}-${direction}`,
    text: `
      with typed as (select ${LOANS} as loans, ${TRANSACTIONS} as transactions, ${ACCOUNTS} as accounts),
      bounds as materialized (select
        greatest(coalesce(${AFTER}, 0), case when ${FROM} is null then 0 else ${firstId(`>= ${FROM}`)} - 1 end) as low,
        least(coalesce(${BEFORE}, ${MORE_THAN_ANY_ID}),
          case when ${TO} is null then ${MORE_THAN_ANY_ID} else ${firstId(`> ${TO}`)} end) as high
      ),
      kinds as materialized (${KINDS}),
      lists as materialized (${withOtherNames(ACCOUNTS)}),
      ${stepsOf(way, direction)},
      shown as materialized (${firstThatFit(`select * from found order by id ${direction} limit ${LIMIT}`, direction)})
      select ${way === 'accounts' ? `case when (select count(*) from loan_ids) <= ${MOST_LOANS} then ${answer} end` : answer} as answer,
        ${READ_MODEL_STATE}`,
  }
}

/** The common table expressions of a way; the last one is `found`, with one record more than a page has. */
function stepsOf(way: Way, direction: Direction): string {
  const found = (rows: string): string =>
    `found as materialized (select * from (${rows}) as candidate order by id ${direction} limit ${LIMIT} + 1)`
  switch (way) {
    case 'all':
      return found(inOrder(direction, `${LIMIT} + 1`))
    case 'kinds':
      return found(byIds(ofKinds(direction, `${LIMIT} + 1`)))
    case 'transactions':
      // A transaction has few records, so they are read whole; each costs a look-up for each account.
      return `few as materialized (
          select record.* from unnest(${TRANSACTIONS}) as given(hash)
          cross join lateral (select * from projection.activity where tx_hash = given.hash) as record
        ), examined as materialized (
          select few.id, few.loan_id, kinds.loan_type from few join kinds on kinds.id = few.kind
          where few.id > ${LOW} and few.id < ${HIGH} and ${orNull(LOANS, `few.loan_id = any(${LOANS})`)}
          order by few.id ${direction} limit ${MOST_EXAMINED}
        ), ${found(`
          select few.* from few join examined using (id)
          where ${orNull(ACCOUNTS, isParty('examined.loan_type', 'examined.loan_id'))}`)}`
    case 'loans':
      return `loan_keys as materialized (
          select loan_id, loan_type from unnest(${LOANS}) as given(loan_id)
          cross join (values ('ERC20FIL'), ('FILERC20')) as market(loan_type)
          where ${orNull(ACCOUNTS, isParty('market.loan_type', 'given.loan_id'))}
        ), ${found(byIds(ofLoans(direction, `${LIMIT} + 1`)))}`
    case 'accounts':
      return `loan_ids as materialized (
          select distinct entry.id from lists cross join lateral (
            select id from projection.loan_lists as one
            where one.list = lists.list
            order by one.list desc, one.id desc limit ${MOST_LOANS + 1}
          ) as entry limit ${MOST_LOANS + 1}
        ), loan_keys as materialized (
          select loan.loan_id, loan.loan_type from loan_ids cross join lateral (
            select loan_id, loan_type from projection.loans where loans.id = loan_ids.id limit 1
          ) as loan
        ), ${found(byIds(ofLoans(direction, `${LIMIT} + 1`)))}`
    case 'window':
    case 'window-of-kinds': {
      const examined =
        way === 'window'
          ? inOrder(direction, `${MOST_EXAMINED}`, { columns: 'id, kind, loan_id' })
          : byIds(ofKinds(direction, `${MOST_EXAMINED}`), 'id, kind, loan_id')
      return `examined as materialized (${examined}), ${found(
        byIds(`
          select examined.id from examined join kinds on kinds.id = examined.kind
          where ${isParty('kinds.loan_type', 'examined.loan_id')}
          order by examined.id ${direction} limit ${LIMIT} + 1`),
      )}`
    }
  }
}

/** Whether one of the accounts borrows or lends in a loan: two look-ups, which the planner cannot turn around. */
function isParty(loanType: string, loanId: string): string {
  return `coalesce((
    select true from (
      select id from projection.loans where loan_type = ${loanType} and loan_id = ${loanId} limit 1
    ) as loan cross join lists cross join lateral (
      select from projection.loan_lists as one where one.list = lists.list and one.id = loan.id limit 1
    ) as entry limit 1
  ), false)`
}

/**
 * The smallest possible id of the records whose `createdAt` compares so. It never decreases with the id, so halving the
 * log finds it in some 25 look-ups, and no index on times is needed.
 */
function firstId(comparison: string): string {
  return `(
    with recursive halving(low, high) as (
      select 0::bigint, coalesce((select id / ${IDS_PER_ENTRY} from projection.activity order by id desc limit 1), 0) + 1
      union all
      select case when upper.fits then low else middle + 1 end, case when upper.fits then middle else high end
      from halving cross join lateral (select (low + high) / 2 as middle) as half
      cross join lateral (
        select coalesce((
          select created_at ${comparison} from projection.activity where id >= half.middle * ${IDS_PER_ENTRY} order by id limit 1
        ), true) as fits
      ) as upper
      where low < high
    ) select low * ${IDS_PER_ENTRY} from halving where low = high
  )`
}
