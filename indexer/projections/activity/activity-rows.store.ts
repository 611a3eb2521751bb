import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { ActivityRecord } from './activity.evolve.ts'
import { addToCounts, removeFromCounts, stretchOf } from './activity-counts.store.ts'
import { withKinds } from './record-kinds.store.ts'

/** A record that becomes visible at `at`. */
export interface NewRecord extends ActivityRecord {
  id: number
  /** Of a record that comes and goes as a payment channel is tied to loans; others are known by their ids. */
  ofChannel: { network: string; robust: string; naturalKey: string } | null
  at: Date
}

/** Adds records to the history; all their ids come after those that are there. */
export async function insertRecords(context: FoldContext, records: NewRecord[]): Promise<void> {
  if (records.length === 0) return
  const { trx, schema, counters } = context
  const rows = (await withKinds(context, records)).map(({ id, kind, txHash, loanId, ofChannel, at }) => ({
    ...{ id, kind, txHash, loanId, at },
    ...ofChannel,
  }))
  await sql`
    insert into ${sql.table(`${schema}.activity`)} (id, slot, kind, tx_hash, loan_id, network, channel, natural_key,
      created_at, updated_at)
    select id, coalesce(counted.records, 0) + row_number() over (partition by ${stretchOf('id')} order by id),
      kind, "txHash", "loanId", network, robust, "naturalKey", at, at
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as said(id bigint, kind integer, "txHash" text,
      "loanId" text, network text, robust text, "naturalKey" text, at timestamptz)
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
