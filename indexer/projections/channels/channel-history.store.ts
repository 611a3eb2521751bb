import { sql } from 'kysely'
import { groupBy } from '../../../shared/group-by.ts'
import { FILECOIN_BLOCKCHAIN } from '../../../shared/config/networks.ts'
import { networkIdOf } from '../activity/activity.evolve.ts'
import { closeGaps } from '../activity/dense-position.store.ts'
import type { FoldContext } from '../projection.ts'
import type { ChannelRecord } from './channel-records.evolve.ts'
import type { ChannelKey } from './channel-rows.store.ts'

/** The records that a channel makes now: none while it belongs to no loan. */
export interface ChannelHistory extends ChannelKey {
  records: ChannelRecord[]
}

interface StoredRecord {
  network: string
  natural_key: string
  channel: string
  position: number
  tx_hash: string
  event: string
  loan_type: string
  loan_id: string
}

/**
 * Makes the history show these records of these channels, and no others of them. One that stays keeps its id and
 * createdAt, also when it moves to another loan; one that becomes visible gets the first free id from `idFrom` on.
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
  await removeRecords(
    context,
    stored.filter((row) => !wanted.has(keyOf(row))),
  )
  const changed = stored.flatMap((row) => {
    const found = wanted.get(keyOf(row))
    return found === undefined || saysTheSame(row, found) ? [] : [found]
  })
  await correctRecords(context, changed, at)
  const fresh = [...wanted].filter(([key]) => !shown.has(key)).map(([, found]) => found)
  await addRecords(context, withIds(fresh, idFrom), at)
}

/** In the order of their ids; those that begin at the same number follow each other in the order given. */
function withIds(fresh: PlacedRecord[], idFrom: (record: ChannelRecord) => number): NewRecord[] {
  const ofSameStart = groupBy(fresh, ({ record }) => idFrom(record))
  return [...ofSameStart]
    .flatMap(([start, records]) => records.map((placed, index) => ({ ...placed, id: start + index })))
    .sort((a, b) => a.id - b.id)
}

type NewRecord = PlacedRecord & { id: number }

interface PlacedRecord {
  network: string
  robust: string
  record: ChannelRecord
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

/** The records of these channels, and those under the wanted keys that are another channel's still. */
async function getRecords(
  { trx, schema }: FoldContext,
  channels: ChannelKey[],
  wanted: PlacedRecord[],
): Promise<StoredRecord[]> {
  const activity = sql.table(`${schema}.activity`)
  const fields = sql`record.network, natural_key, channel, position, tx_hash, event, loan_type, loan_id`
  const { rows } = await sql<StoredRecord>`
    select ${fields} from ${activity} record
    join unnest(${channels.map(({ network }) => network)}::text[], ${channels.map(({ robust }) => robust)}::text[])
      wanted(network, channel) using (network, channel)
    union
    select ${fields} from ${activity} record
    join unnest(${wanted.map(({ network }) => network)}::text[],
      ${wanted.map(({ record }) => record.naturalKey)}::text[]) wanted(network, natural_key)
      using (network, natural_key)`.execute(trx)
  return rows
}

async function removeRecords({ trx, schema, counters }: FoldContext, rows: StoredRecord[]): Promise<void> {
  if (rows.length === 0) return
  await sql`
    delete from ${sql.table(`${schema}.activity`)} record
    using unnest(${rows.map(({ network }) => network)}::text[], ${rows.map((row) => row.natural_key)}::text[])
      gone(network, natural_key)
    where record.network = gone.network and record.natural_key = gone.natural_key`.execute(trx)
  await closeGaps(
    trx,
    schema,
    rows.map(({ position }) => position),
  )
  counters.records -= rows.length
}

async function correctRecords(
  { trx, schema }: FoldContext,
  changed: PlacedRecord[],
  at: Date,
): Promise<void> {
  if (changed.length === 0) return
  await sql`
    update ${sql.table(`${schema}.activity`)} record set
      channel = said.channel, tx_hash = said.tx_hash, event = said.event, loan_type = said.loan_type, loan_id = said.loan_id,
      updated_at = said.at
    from ${toRecordset(changed, at)}
    where record.network = said.network and record.natural_key = said.natural_key`.execute(trx)
}

async function addRecords(
  { trx, schema, counters }: FoldContext,
  fresh: NewRecord[],
  at: Date,
): Promise<void> {
  if (fresh.length === 0) return
  await sql`
    insert into ${sql.table(`${schema}.activity`)} (id, position, network, natural_key, tx_hash, event, loan_id,
      blockchain, network_id, contract_address, loan_type, channel, created_at, updated_at)
    select said.id, ${counters.records}::bigint + ordinal, network, natural_key, tx_hash,
      event, loan_id, ${FILECOIN_BLOCKCHAIN}, network_id, null, loan_type, channel, said.at, said.at
    from ${toRecordset(fresh, at)}`.execute(trx)
  counters.records += fresh.length
}

function toRecordset(records: (PlacedRecord & { id?: number })[], at: Date) {
  const rows = records.map(({ network, robust, record, id }, index) => ({
    id,
    ordinal: index + 1,
    network,
    network_id: networkIdOf(network),
    channel: robust,
    natural_key: record.naturalKey,
    tx_hash: record.txHash,
    event: record.event,
    loan_type: record.loanType,
    loan_id: record.loanId,
    at,
  }))
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as said(id bigint, ordinal bigint, network text, network_id text,
    channel text, natural_key text, tx_hash text, event text, loan_type text, loan_id text, at timestamptz)`
}
