import { sql, type RawBuilder } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import { unnest } from '../../../shared/db/unnest.ts'
import { IDS_PER_ENTRY, type FoldContext } from '../projection.ts'
import type { ActivityRecord } from './activity.evolve.ts'
import { addToCounts, removeFromCounts, stretchOf } from './activity-counts.store.ts'
import { numbersOfKinds } from './record-kinds.store.ts'

/** A record that becomes visible at `at`. */
export interface NewRecord extends ActivityRecord {
  id: number
  /** Set for records that follow the link of a payment channel; the id alone identifies all others. */
  ofChannel: { network: string; robust: string; naturalKey: string } | null
  at: Date
}

/** Adds records to the history; their ids must follow all existing ones. */
export async function insertRecords(context: FoldContext, added: readonly NewRecord[]): Promise<void> {
  if (added.length === 0) return
  const { trx, schema, counters } = context
  const records = added.toSorted((a, b) => a.id - b.id)
  const ids = records.map(({ id }) => id)
  const kinds = await numbersOfKinds(
    context,
    records.map(({ kind }) => kind),
  )
  const slots = await slotsOf(context, ids)
  const rows = records.map((record, index) => ({
    id: record.id,
    slot: slots[index] ?? null,
    kind: kinds[index] ?? null,
    tx_hash: record.txHash,
    loan_id: record.loanId,
    network: record.ofChannel?.network ?? null,
    channel: record.ofChannel?.robust ?? null,
    natural_key: record.ofChannel?.naturalKey ?? null,
    created_at: record.at,
    updated_at: record.at,
  }))
  await copyRows(trx, `${schema}.activity`, rows)
  await addToCounts(trx, schema, ids)
  counters.records += records.length
}

/**
 * Gives stored records their new content. They keep id and createdAt; updatedAt changes only with the content. The
 * caller keeps their `ofChannel`, apart from the channel itself.
 */
export async function correctRecords(context: FoldContext, records: readonly NewRecord[]): Promise<void> {
  if (records.length === 0) return
  const { trx, schema } = context
  const kinds = await numbersOfKinds(
    context,
    records.map(({ kind }) => kind),
  )
  const rows = records.map(({ id, txHash, loanId, ofChannel, at }, index) => ({
    ...{ id, tx_hash: txHash, loan_id: loanId, channel: ofChannel?.robust ?? null },
    ...{ kind: kinds[index] ?? null, at: at.toISOString() },
  }))
  await keepPast(
    context,
    sql`select activity.* from ${sql.table(`${schema}.activity`)}
      join ${unnest('content', CONTENT, rows)} on activity.id = content.id where ${IS_OTHER}`,
  )
  await trx
    .withSchema(schema)
    .updateTable('activity')
    .from(unnest('content', CONTENT, rows))
    .set((eb) => ({
      tx_hash: eb.ref('content.tx_hash'),
      loan_id: eb.ref('content.loan_id'),
      channel: eb.ref('content.channel'),
      kind: eb.ref('content.kind').$notNull(),
      updated_at: sql<Date>`content.at`,
    }))
    .whereRef('activity.id', '=', 'content.id')
    .where(IS_OTHER)
    .execute()
}

const IS_OTHER = sql<boolean>`(activity.tx_hash, activity.loan_id, activity.channel, activity.kind)
  is distinct from (content.tx_hash, content.loan_id, content.channel, content.kind)`

/**
 * Keeps what these rows of activity said until now. A record's id names the entry that made it visible, and its last
 * past row the position of its last correction.
 */
async function keepPast(
  { trx, schema, position }: FoldContext,
  rows: RawBuilder<unknown>,
): Promise<{ id: number; stretch: number }[]> {
  const past = sql.table(`${schema}.activity_past`)
  const { rows: kept } = await sql<{ id: number; stretch: number }>`
    with gone as (${rows}), kept as (
      insert into ${past} (id, since, until, kind, tx_hash, loan_id, natural_key, created_at, updated_at)
      select gone.id, coalesce(
          (select max(until) from ${past} as earlier where earlier.id = gone.id), gone.id / ${IDS_PER_ENTRY}::bigint
        ), ${position}::bigint, kind, tx_hash, loan_id, natural_key, created_at, updated_at
      from gone
    )
    select id, stretch from gone`.execute(trx)
  return kept
}

const CONTENT = {
  ...({ id: 'bigint', tx_hash: 'text', loan_id: 'text', channel: 'text' } as const),
  ...({ kind: 'integer', at: 'timestamptz' } as const),
}

/** Slots of records within their stretches, for ascending ids. Only the first stretch can already contain records. */
async function slotsOf({ trx, schema }: FoldContext, ids: readonly number[]): Promise<number[]> {
  let stretch = stretchOf(ids[0] ?? 0)
  const first = await trx
    .withSchema(schema)
    .selectFrom('activity_counts')
    .select('records')
    .where('level', '=', 0)
    .where('number', '=', stretch)
    .executeTakeFirst()
  let slot = first?.records ?? 0
  return ids.map((id) => {
    const own = stretchOf(id)
    slot = own === stretch ? slot + 1 : 1
    stretch = own
    return slot
  })
}

/**
 * Removes records: later slots in their stretches move up, and the counts of later stretches decrease. Unknown ids are
 * ignored.
 */
export async function deleteRecords(context: FoldContext, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const { trx, schema, counters } = context
  const table = sql.table(`${schema}.activity`)
  const gone = await keepPast(context, sql`delete from ${table} where id = any(${ids}::bigint[]) returning *`)
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
