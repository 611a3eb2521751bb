/**
 * Postgres writes the answers' JSON by concatenating texts: building a row's object and casting it to text costs twice
 * as much.
 */

/** Formats a timestamptz as `Date.prototype.toISOString` does. */
export function isoTime(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** Greater than every record's id. */
export const MORE_THAN_ANY_ID = '9223372036854775807::bigint'

/** The ten fields of a record in the specification's order; those that depend on the kind are stored as JSON. */
const RECORD = `'{"id":' || found.id || ',"txHash":' || to_json(found.tx_hash)::text || kind.json_before_loan
  || to_json(found.loan_id)::text || kind.json_after_loan || ',"createdAt":"' || ${isoTime('found.created_at')}
  || '","updatedAt":"' || ${isoTime('found.updated_at')} || '"}'`

/** Bytes of JSON after which an answer takes no further record; with a loan's parts it stays below 2 MB. */
const MOST_RECORD_BYTES = 1024 * 1024

/** Builds a select of one text: the JSON of the activity rows that `found` selects, newest first; '' for none. */
export function recordsJson(found: string): string {
  return `
    select coalesce(string_agg(${RECORD}, ',' order by found.id desc), '')
    from (${found}) as found join projection.record_kinds as kind on kind.id = found.kind`
}

/** Order of a list by its records' ids. */
export type Direction = 'asc' | 'desc'

/** Builds a select of `id` and `json` for the newest of the activity rows that `found` selects, at least one. */
export function newestThatFit(found: string): string {
  return firstThatFit(found, 'desc')
}

/**
 * Builds a select of `id` and `json` for the first of the activity rows that `found` selects. It takes as many as fit
 * into an answer, at least one.
 */
export function firstThatFit(found: string, direction: Direction): string {
  return `
    select id, json from (
      select id, json, sum(octet_length(json)) over (order by id ${direction}) - octet_length(json) as bytes_before
      from (
        select found.id, ${RECORD} as json
        from (${found}) as found join projection.record_kinds as kind on kind.id = found.kind
      ) as written
    ) as measured where bytes_before < ${MOST_RECORD_BYTES}`
}

/**
 * Selects the newest rows of one loan, kind by kind, by the index on loan and kind. The other market's loan of the same
 * number may have any number of records. The order names all three columns, so no other index fits it. Needs a CTE
 * `kinds` with the ids of the wanted kinds; `loan`, `before` and `limit` are SQL expressions.
 */
export function newestOfLoan({
  loan,
  before,
  limit,
  also = 'true',
}: {
  loan: string
  before: string
  limit: string
  /** A further condition on rows `activity`. */
  also?: string
}): string {
  return `
    select of_kind.* from kinds cross join lateral (
      select * from projection.activity
      where (loan_id, kind) >= (${loan}, kinds.id) and (loan_id, kind, id) < (${loan}, kinds.id, ${before}) and ${also}
      order by loan_id desc, kind desc, id desc limit ${limit}
    ) as of_kind order by of_kind.id desc limit ${limit}`
}
