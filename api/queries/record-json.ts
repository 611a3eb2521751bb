/**
 * Postgres writes the answers' JSON: a row needs no object here, and its fields keep the order of the select list.
 */

/** A timestamptz as `Date.prototype.toISOString` writes it. */
export function isoTime(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** A select of the ten fields, in the order of the specification, of activity rows that another select finds. */
export function recordsOf(found: string): string {
  return `
    select found.id, tx_hash as "txHash", event, loan_id as "loanId", blockchain, network_id as "networkId",
      contract_address as "contractAddress", loan_type as "loanType",
      ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
    from (${found}) as found join projection.record_kinds as kind on kind.id = found.kind`
}

/** The JSON texts of the rows of `record`, one after the other, without brackets; '' when there are none. */
export function recordsJson(order: 'asc' | 'desc'): string {
  return `coalesce(string_agg(row_to_json(record)::text, ',' order by record.id ${order}), '')`
}
