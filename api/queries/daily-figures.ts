import { READ_MODEL_STATE, type Found } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

/** Rows of an answer at most: anybody can make loans in tokens of one's own. */
export const MOST_ROWS = 2_000

export interface DailySearch {
  /** YYYY-MM-DD, both included. */
  from: string
  to: string
  loanTypes: string[] | null
}

/**
 * Raw SQL: one row more than an answer has shows that it is not whole. It then ends with its last whole day, or has the
 * rows of one day that fit. A planner without statistics takes a pair of plain comparisons for rare, and would read and
 * sort the whole range.
 */
export const DAILY_FIGURES: Statement = {
  name: 'daily-figures',
  text: `
    with bounds as materialized (
      select $1::date - date '1970-01-01' as low, $2::date - date '1970-01-01' as high
    ), found as materialized (
      select * from projection.daily
      where (day, day) >= ((select low from bounds), (select low from bounds)) and day <= (select high from bounds)
        and ($3::text[] is null or loan_type = any($3::text[]))
      order by day, loan_type, network_id, token limit ${MOST_ROWS + 1}
    ), edge as materialized (
      select case when count(*) <= ${MOST_ROWS} then null else greatest(max(day), min(day) + 1) end as next from found
    ), shown as (
      select * from found where day < coalesce((select next from edge), day + 1)
      order by day, loan_type, network_id, token limit ${MOST_ROWS}
    )
    select json_build_object('status', 'OK', 'payload', coalesce((
        select json_agg(json_build_object(
          'day', to_char(date '1970-01-01' + day::integer, 'YYYY-MM-DD'),
          'loanType', loan_type, 'networkId', network_id, 'token', shown.token,
          'symbol', named.symbol, 'decimals', named.decimals,
          'opened', opened, 'closed', closed, 'seized', seized, 'cancelled', cancelled,
          'principal', case when unknown = 0 then principal::text end, 'open', open
        ) order by day, loan_type, network_id, shown.token)
        from shown left join lateral (
          select symbol, decimals from ledger.tokens where network_id = shown.network_id and tokens.token = shown.token limit 1
        ) as named on true
      ), '[]'),
      'next', (
        select to_char(date '1970-01-01' + next::integer, 'YYYY-MM-DD') from edge, bounds where next <= high
      )
    )::text as answer, ${READ_MODEL_STATE}`,
}

/** Returns the JSON answer: the daily figures of a range of days, the first day first. */
export async function findDailyFigures(
  database: ReadDatabase,
  { from, to, loanTypes }: DailySearch,
): Promise<Found> {
  const [row] = await database.rows<Found>(DAILY_FIGURES, [from, to, loanTypes])
  if (row === undefined) throw new Error('the daily figures have no row')
  return row
}
