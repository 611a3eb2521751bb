import { sql } from 'kysely'
import type { Trx } from '../../shared/db/transaction.ts'

/** Rows of a page. */
const PAGE = 500

export interface ExportPage<Row> {
  rows: Row[]
  /** The id after which the next page begins. */
  last: number
}

/** A record of the history, with its ten fields in the specification's order. */
export type ExportedRecord = Record<string, string | number | null>

export interface ExportedLoan {
  loanType: string
  loanId: string
  network: string
  /** The contract's half. Amounts are texts. */
  contract: Record<string, string | null>
  /** The halves on Filecoin; null where there is none. */
  collateral: Record<string, unknown> | null
  principal: Record<string, unknown> | null
  payback: Record<string, unknown> | null
  createdAt: string
  updatedAt: string
}

const isoTime = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)

/** Records with ids above `after`, ascending. The fields that depend on the kind are stored as JSON. */
export async function getRecordsAfter(trx: Trx, after: number): Promise<ExportPage<ExportedRecord>> {
  const { rows } = await sql<{ json: ExportedRecord }>`
    select ('{"id":' || one.id || ',"txHash":' || to_json(one.tx_hash)::text || kind.json_before_loan
      || to_json(one.loan_id)::text || kind.json_after_loan || ',"createdAt":"' || ${isoTime('one.created_at')}
      || '","updatedAt":"' || ${isoTime('one.updated_at')} || '"}')::json as json
    from projection.activity as one join projection.record_kinds as kind on kind.id = one.kind
    where one.id > ${after} order by one.id limit ${PAGE}`.execute(trx)
  const records = rows.map(({ json }) => json)
  return { rows: records, last: Number(records.at(-1)?.['id'] ?? after) }
}

/** Loans with ids above `after`, in the order in which they were first seen. */
export async function getLoansToExport(trx: Trx, after: number): Promise<ExportPage<ExportedLoan>> {
  const half = (role: string) => sql`(
    select channel.part from projection.channels as channel
    where channel.loan_type = loan.loan_type and channel.loan_id = loan.loan_id and channel.role = ${role}
      and channel.shown limit 1)`
  const { rows } = await sql<ExportedLoan & { id: number }>`
    select loan.id, loan.loan_type as "loanType", loan.loan_id as "loanId", loan.network,
      (loan.evm_part::jsonb || jsonb_build_object('state', coalesce(loan.derived_state, loan.evm_part->>'state'))) as contract,
      ${half('collateral')} as collateral, ${half('principal')} as principal, ${half('payback')} as payback,
      ${isoTime('loan.created_at')} as "createdAt", ${isoTime('loan.updated_at')} as "updatedAt"
    from projection.loans as loan where loan.id > ${after} order by loan.id limit ${PAGE}`.execute(trx)
  return { rows: rows.map(({ id: _, ...loan }) => loan), last: rows.at(-1)?.id ?? after }
}

/** The greatest id, for the time left. */
export async function getGreatestId(trx: Trx, table: 'activity' | 'loans'): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select coalesce(max(id), 0) as id from ${sql.table(`projection.${table}`)}`.execute(trx)
  return rows[0]?.id ?? 0
}
