/**
 * Postgres writes the answers' JSON, by putting texts together: a row made an object and turned into text field by field
 * costs twice as much.
 */

/** A timestamptz as `Date.prototype.toISOString` writes it. */
export function isoTime(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** The ten fields of a record in the order of the specification; those that its kind says are kept as JSON. */
const RECORD = `'{"id":' || found.id || ',"txHash":' || to_json(found.tx_hash)::text || kind.json_before_loan
  || to_json(found.loan_id)::text || kind.json_after_loan || ',"createdAt":"' || ${isoTime('found.created_at')}
  || '","updatedAt":"' || ${isoTime('found.updated_at')} || '"}'`

/** A select of one text: the JSON of the activity rows that another select finds, without brackets; '' of none. */
export function recordsJson(found: string, order: 'asc' | 'desc'): string {
  return `
    select coalesce(string_agg(${RECORD}, ',' order by found.id ${order}), '')
    from (${found}) as found join projection.record_kinds as kind on kind.id = found.kind`
}
