import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** The entries of the log that hold now, as a table: the newest of each natural key, where it is no retraction. */
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

/** The history, oldest first, each record with the natural key of what it is about. */
export async function recordsWithKeys(db: Db): Promise<KeyedRecord[]> {
  const { rows } = await sql<KeyedRecord>`
    select record.id, record.network, coalesce(record.natural_key, made.natural_key) as "naturalKey",
      record.loan_id as "loanId", record.created_at as "createdAt"
    from projection.activity record left join ledger.event_log made on made.position = record.id / 1000000
    order by record.id`.execute(db)
  return rows
}
