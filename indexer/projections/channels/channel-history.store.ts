import type { Selectable } from 'kysely'
import type { ActivityTable } from '../../../shared/db/schema.ts'
import { isOneOf } from '../../../shared/db/unnest.ts'
import { groupBy } from '../../../shared/group-by.ts'
import { FILECOIN_BLOCKCHAIN } from '../../../shared/config/networks.ts'
import { networkIdOf } from '../../../shared/events/natural-key.ts'
import {
  correctRecords,
  deleteRecords,
  insertRecords,
  type NewRecord,
} from '../activity/activity-rows.store.ts'
import type { FoldContext } from '../projection.ts'
import type { ChannelRecord } from '../../../shared/channels/channel-records.evolve.ts'
import type { ChannelKey } from './channel-rows.store.ts'

/** The records that a channel contributes now; empty while it belongs to no loan. */
export interface ChannelHistory extends ChannelKey {
  records: ChannelRecord[]
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
  const shown = new Map(stored.map((row) => [`${row.network ?? ''} ${row.natural_key ?? ''}`, row.id]))
  await deleteRecords(
    context,
    [...shown].filter(([key]) => !wanted.has(key)).map(([, id]) => id),
  )
  const kept = [...wanted].flatMap(([key, placed]) => {
    const id = shown.get(key)
    return id === undefined ? [] : [toRecord(placed, id, at)]
  })
  await correctRecords(context, kept)
  const fresh = [...wanted].filter(([key]) => !shown.has(key)).map(([, placed]) => placed)
  await insertRecords(context, withIds(fresh, idFrom, at))
}

/** Records with the same start id take consecutive ids, in the given order. */
function withIds(fresh: PlacedRecord[], idFrom: (record: ChannelRecord) => number, at: Date): NewRecord[] {
  const ofSameStart = groupBy(fresh, ({ record }) => idFrom(record))
  return [...ofSameStart].flatMap(([start, placed]) =>
    placed.map((one, index) => toRecord(one, start + index, at)),
  )
}

interface PlacedRecord extends ChannelKey {
  record: ChannelRecord
}

function toRecord({ network, robust, record }: PlacedRecord, id: number, at: Date): NewRecord {
  const { txHash, event, loanType, loanId, naturalKey } = record
  const chain = { networkId: networkIdOf(network), blockchain: FILECOIN_BLOCKCHAIN, contractAddress: null }
  return {
    id,
    txHash,
    loanId,
    kind: { event, loanType, ...chain },
    ofChannel: { network, robust, naturalKey },
    at,
  }
}

/** The records of these channels, and records under the wanted keys that still belong to another channel. */
async function getRecords(
  { trx, schema }: FoldContext,
  channels: ChannelKey[],
  wanted: PlacedRecord[],
): Promise<Pick<Selectable<ActivityTable>, 'id' | 'network' | 'natural_key'>[]> {
  const records = trx.withSchema(schema).selectFrom('activity').select(['id', 'network', 'natural_key'])
  const ofChannels = channels.map(({ network, robust: channel }) => ({ network, channel }))
  const ofKeys = wanted.map(({ network, record }) => ({ network, natural_key: record.naturalKey }))
  return records
    .where(isOneOf({ network: 'text', channel: 'text' }, ofChannels))
    .union(records.where(isOneOf({ network: 'text', natural_key: 'text' }, ofKeys)))
    .execute()
}
