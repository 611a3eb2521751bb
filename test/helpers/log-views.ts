import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** A table expression of the valid log entries: the newest of each natural key, unless it is a retraction. */
export const LIVE_ENTRIES = sql`(
  select * from (
    select distinct on (network, natural_key) * from ledger.event_log order by network, natural_key, revision desc
  ) newest where op <> 'retract'
)`

export interface KeyedRecord {
  id: number
  network: string
  naturalKey: string
  loanId: string
  createdAt: Date
}

/** Returns the history, oldest first, each record with the natural key of its event. */
export async function recordsWithKeys(db: Db): Promise<KeyedRecord[]> {
  const { rows } = await sql<KeyedRecord>`
    select record.id, coalesce(record.network, made.network) as network,
      coalesce(record.natural_key, made.natural_key) as "naturalKey",
      record.loan_id as "loanId", record.created_at as "createdAt"
    from projection.activity record left join ledger.event_log made on made.position = record.id / 1000000
    order by record.id`.execute(db)
  return rows
}

/** A table expression of the history: each record with its kind's fields. */
export const RECORDS = sql`(
  select record.*, event, loan_type, blockchain, network_id, contract_address
  from projection.activity record join projection.record_kinds kind on kind.id = record.kind
)`

export interface RecordRow {
  id: number
  created_at: Date
  updated_at: Date
  tx_hash: string
  loan_id: string
  /** Set for a channel's record, otherwise null. */
  network: string | null
  channel: string | null
  natural_key: string | null
  event: string
  loan_type: string
  blockchain: string
  network_id: string
  contract_address: string | null
}

/** The history, oldest first. */
export async function recordRows(db: Db): Promise<RecordRow[]> {
  const { rows } = await sql<RecordRow>`select * from ${RECORDS} records order by id`.execute(db)
  return rows
}
