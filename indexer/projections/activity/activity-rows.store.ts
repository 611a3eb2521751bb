import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { ActivityRecord } from './activity.evolve.ts'
import { addToCounts, removeFromCounts, stretchOf } from './activity-counts.store.ts'

/** A record that becomes visible at `at`. */
export interface NewRecord extends ActivityRecord {
  id: number
  network: string
  /** Of a channel's record, which may come and go with the loan that it belongs to; others are known by their ids. */
  naturalKey: string | null
  /** Robust address of the payment channel that it is about. */
  channel: string | null
  at: Date
}

/** Adds records to the history; all their ids come after those that are there. */
export async function insertRecords(
  { trx, schema, counters }: FoldContext,
  records: NewRecord[],
): Promise<void> {
  if (records.length === 0) return
  await sql`
    insert into ${sql.table(`${schema}.activity`)} (id, slot, network, natural_key, tx_hash, event, loan_id, blockchain,
      network_id, contract_address, loan_type, channel, created_at, updated_at)
    select id, coalesce(counted.records, 0) + row_number() over (partition by ${stretchOf('id')} order by id),
      network, "naturalKey", "txHash", event, "loanId", blockchain, "networkId", "contractAddress", "loanType", channel, at, at
    from jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as said(
      id bigint, network text, "naturalKey" text, "txHash" text, event text, "loanId" text, blockchain text,
      "networkId" text, "contractAddress" text, "loanType" text, channel text, at timestamptz)
    left join ${sql.table(`${schema}.activity_counts`)} counted
      on counted.level = 0 and counted.number = ${stretchOf('id')}`.execute(trx)
  await addToCounts(
    trx,
    schema,
    records.map(({ id }) => id),
  )
  counters.records += records.length
}

/**
 * Takes records out of the history; those after them in their stretches of the log move up, and the counts of later
 * stretches go down. Ids that have no record are passed over.
 */
export async function deleteRecords({ trx, schema, counters }: FoldContext, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const table = sql.table(`${schema}.activity`)
  const { rows: gone } = await sql<{ id: number; stretch: number }>`
    delete from ${table} record using unnest(${ids}::bigint[]) gone(id) where record.id = gone.id
    returning record.id, stretch`.execute(trx)
  if (gone.length === 0) return
  await sql`
    update ${table} as record set slot = moved.slot
    from (
      select id, row_number() over (partition by stretch order by id) as slot
      from ${table} where stretch = any(${[...new Set(gone.map(({ stretch }) => stretch))]}::bigint[])
    ) moved
    where record.id = moved.id and record.slot <> moved.slot`.execute(trx)
  await removeFromCounts(
    trx,
    schema,
    gone.map(({ id }) => id),
  )
  counters.records -= gone.length
}
