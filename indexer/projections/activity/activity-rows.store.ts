import { sql } from 'kysely'
import { copyRows, copyWrittenRows } from '../../../shared/db/copy-rows.ts'
import { overlapping } from '../../../shared/db/transaction.ts'
import { WrittenRows } from '../../../shared/db/written-rows.ts'
import type { FoldContext } from '../projection.ts'
import type { ActivityRecord, RecordKind } from './activity.evolve.ts'
import { addToCounts, removeFromCounts, stretchOf } from './activity-counts.store.ts'
import { numbersOfKinds } from './record-kinds.store.ts'

/** A record that becomes visible at `at`. */
export interface NewRecord extends ActivityRecord {
  id: number
  /** Of a record that comes and goes as a payment channel is tied to loans; others are known by their ids. */
  ofChannel: { network: string; robust: string; naturalKey: string } | null
  at: Date
}

const COLUMNS = {
  id: 'bigint',
  slot: 'integer',
  kind: 'integer',
  tx_hash: 'text',
  loan_id: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
const COLUMNS_OF_CHANNELS = { ...COLUMNS, network: 'text', channel: 'text', natural_key: 'text' } as const

/** Adds records to the history; all their ids come after those that are there. */
export async function insertRecords(context: FoldContext, added: readonly NewRecord[]): Promise<void> {
  const records = added.toSorted((a, b) => a.id - b.id)
  const ids = records.map(({ id }) => id)
  const kinds = records.map(({ kind }) => kind)
  await insert(context, { ids, kinds }, (numbers, slots) =>
    copyRows(
      context.trx,
      `${context.schema}.activity`,
      records.some(({ ofChannel }) => ofChannel !== null) ? COLUMNS_OF_CHANNELS : COLUMNS,
      records,
      (record, index) => rowOf(record, numbers[index] ?? null, slots[index] ?? null),
    ),
  )
}

/** Records of the contracts' events in the order of their ids: what they say is held as their rows alone. */
export class WrittenRecords {
  readonly #rows = new WrittenRows(COLUMNS)
  readonly #ids: number[] = []
  readonly #kinds: RecordKind[] = []

  add(record: NewRecord): void {
    if (record.id <= (this.#ids.at(-1) ?? 0)) throw new Error(`record ${record.id} is out of order`)
    this.#rows.add(rowOf(record, 0, 0))
    this.#ids.push(record.id)
    this.#kinds.push(record.kind)
  }

  /** Adds them to the history; all their ids come after those that are there. */
  insert(context: FoldContext): Promise<void> {
    return insert(context, { ids: this.#ids, kinds: this.#kinds }, (numbers, slots) => {
      numbers.forEach((number, row) => this.#rows.setInteger(row, 'kind', number))
      slots.forEach((slot, row) => this.#rows.setInteger(row, 'slot', slot))
      return copyWrittenRows(context.trx, `${context.schema}.activity`, this.#rows)
    })
  }
}

function rowOf({ id, txHash, loanId, ofChannel, at }: NewRecord, kind: number | null, slot: number | null) {
  return {
    id,
    slot,
    kind,
    tx_hash: txHash,
    loan_id: loanId,
    network: ofChannel?.network ?? null,
    channel: ofChannel?.robust ?? null,
    natural_key: ofChannel?.naturalKey ?? null,
    created_at: at,
    updated_at: at,
  }
}

/** Of records by their ascending ids; `copy` is told the numbers of their kinds and their places. */
async function insert(
  context: FoldContext,
  { ids, kinds }: { ids: number[]; kinds: readonly RecordKind[] },
  copy: (numbers: number[], slots: number[]) => Promise<void>,
): Promise<void> {
  if (ids.length === 0) return
  const { trx, schema, counters } = context
  const [numbers, slots] = await overlapping([numbersOfKinds(context, kinds), slotsOf(context, ids)])
  await overlapping([copy(numbers, slots), addToCounts(trx, schema, ids)])
  counters.records += ids.length
}

/** The places of records in their stretches of the log, by their ascending ids: only the first stretch may have some already. */
async function slotsOf({ trx, schema }: FoldContext, ids: readonly number[]): Promise<number[]> {
  let stretch = stretchOf(ids[0] ?? 0)
  const { rows } = await sql<{ records: number }>`
    select records from ${sql.table(`${schema}.activity_counts`)}
    where level = 0 and number = ${stretch}`.execute(trx)
  let slot = rows[0]?.records ?? 0
  return ids.map((id) => {
    const own = stretchOf(id)
    slot = own === stretch ? slot + 1 : 1
    stretch = own
    return slot
  })
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
  const movedUp = sql`
    update ${table} as record set slot = moved.slot
    from (
      select id, row_number() over (partition by stretch order by id) as slot
      from ${table} where stretch = any(${[...new Set(gone.map(({ stretch }) => stretch))]}::bigint[])
    ) moved
    where record.id = moved.id and record.slot <> moved.slot`.execute(trx)
  const counted = removeFromCounts(
    trx,
    schema,
    gone.map(({ id }) => id),
  )
  await overlapping([movedUp, counted])
  counters.records -= gone.length
}
