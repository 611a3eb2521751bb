import { sql } from 'kysely'
import { groupBy } from '../../../shared/group-by.ts'
import { FILECOIN_BLOCKCHAIN } from '../../../shared/config/networks.ts'
import { networkIdOf, type ActivityRecord } from '../activity/activity.evolve.ts'
import { deleteRecords, insertRecords, type NewRecord } from '../activity/activity-rows.store.ts'
import { numbersOfKinds } from '../activity/record-kinds.store.ts'
import type { FoldContext } from '../projection.ts'
import type { ChannelRecord } from './channel-records.evolve.ts'
import type { ChannelKey } from './channel-rows.store.ts'

/** The records that a channel contributes now; empty while it belongs to no loan. */
export interface ChannelHistory extends ChannelKey {
  records: ChannelRecord[]
}

interface StoredRecord {
  id: number
  network: string
  natural_key: string
  channel: string
  tx_hash: string
  event: string
  loan_type: string
  loan_id: string
}

/**
 * Makes the history show exactly these records of these channels. A record that stays keeps its id and createdAt, even
 * when it moves to another loan. New records take consecutive ids from `idFrom` on.
 */
export async function putChannelHistories(
  context: FoldContext,
  histories: ChannelHistory[],
  at: Date,
  idFrom: (record: ChannelRecord) => number,
): Promise<void> {
  if (histories.length === 0) return
  const wanted = new Map<string, PlacedRecord>(
    histories.flatMap(({ network, robust, records }) =>
      records.map((record) => [`${network} ${record.naturalKey}`, { network, robust, record }] as const),
    ),
  )
  const stored = await getRecords(context, histories, [...wanted.values()])
  const shown = new Set(stored.map(keyOf))
  const gone = stored.filter((row) => !wanted.has(keyOf(row)))
  await deleteRecords(
    context,
    gone.map(({ id }) => id),
  )
  const changed = stored.flatMap((row) => {
    const found = wanted.get(keyOf(row))
    return found === undefined || saysTheSame(row, found) ? [] : [found]
  })
  await correctRecords(context, changed, at)
  const fresh = [...wanted].filter(([key]) => !shown.has(key)).map(([, found]) => found)
  await insertRecords(context, withIds(fresh, idFrom, at))
}

/** Records with the same start id take consecutive ids, in the given order. */
function withIds(fresh: PlacedRecord[], idFrom: (record: ChannelRecord) => number, at: Date): NewRecord[] {
  const ofSameStart = groupBy(fresh, ({ record }) => idFrom(record))
  return [...ofSameStart].flatMap(([start, records]) =>
    records.map(({ network, robust, record }, index) => ({
      ...said({ network, robust, record }),
      ...{ id: start + index, ofChannel: { network, robust, naturalKey: record.naturalKey }, at },
    })),
  )
}

interface PlacedRecord {
  network: string
  robust: string
  record: ChannelRecord
}

function said({ network, record }: PlacedRecord): ActivityRecord {
  const { txHash, event, loanType, loanId } = record
  const chain = { networkId: networkIdOf(network), blockchain: FILECOIN_BLOCKCHAIN, contractAddress: null }
  return { txHash, loanId, kind: { event, loanType, ...chain } }
}

function keyOf({ network, natural_key }: StoredRecord): string {
  return `${network} ${natural_key}`
}

function saysTheSame(row: StoredRecord, { robust, record }: PlacedRecord): boolean {
  return (
    row.channel === robust &&
    row.tx_hash === record.txHash &&
    row.event === record.event &&
    row.loan_type === record.loanType &&
    row.loan_id === record.loanId
  )
}

/** The records of these channels, and records under the wanted keys that still belong to another channel. */
async function getRecords(
  { trx, schema }: FoldContext,
  channels: ChannelKey[],
  wanted: PlacedRecord[],
): Promise<StoredRecord[]> {
  const activity = sql.table(`${schema}.activity`)
  const fields = sql`record.id, record.network, natural_key, channel, tx_hash, event, loan_type, loan_id`
  const kinds = sql`join ${sql.table(`${schema}.record_kinds`)} kind on kind.id = record.kind`
  const { rows } = await sql<StoredRecord>`
    select ${fields} from ${activity} record ${kinds}
    join unnest(${channels.map(({ network }) => network)}::text[], ${channels.map(({ robust }) => robust)}::text[])
      wanted(network, channel) using (network, channel)
    union
    select ${fields} from ${activity} record ${kinds}
    join unnest(${wanted.map(({ network }) => network)}::text[],
      ${wanted.map(({ record }) => record.naturalKey)}::text[]) wanted(network, natural_key)
      using (network, natural_key)`.execute(trx)
  return rows
}

async function correctRecords(context: FoldContext, changed: PlacedRecord[], at: Date): Promise<void> {
  if (changed.length === 0) return
  const { trx, schema } = context
  const placed = changed.map((one) => ({
    ...said(one),
    ...{ network: one.network, channel: one.robust, naturalKey: one.record.naturalKey, at },
  }))
  const kinds = await numbersOfKinds(
    context,
    placed.map(({ kind }) => kind),
  )
  const rows = placed.map((record, index) => ({ ...record, kind: kinds[index] }))
  await sql`
    update ${sql.table(`${schema}.activity`)} record set
      channel = said.channel, tx_hash = said."txHash", kind = said.kind, loan_id = said."loanId", updated_at = said.at
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as said(network text, channel text, "naturalKey" text,
      "txHash" text, kind integer, "loanId" text, at timestamptz)
    where record.network = said.network and record.natural_key = said."naturalKey"`.execute(trx)
}
