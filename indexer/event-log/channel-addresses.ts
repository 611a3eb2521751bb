import { sql } from 'kysely'
import type { WholeEntry } from '../../shared/events/log-entry.ts'
import type { Db } from '../../shared/db/connect.ts'
import { copyRows } from '../../shared/db/copy-rows.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { ofNetwork } from './of-network.ts'

/** A channel whose creation the log holds: its robust address, and its ID address on this fork. */
export interface ChannelAddress {
  robust: string
  channelId: string
}

/** The channels at these addresses (ID or robust) that were created before tipset `beforeBlock`, oldest first. */
export async function getChannelsAt(
  db: Db | Trx,
  network: string,
  addresses: string[],
  beforeBlock: number,
): Promise<ChannelAddress[]> {
  if (addresses.length === 0) return []
  const named = sql<string>`any(${addresses}::text[])`
  return db
    .selectFrom('ledger.channel_addresses')
    .select(['robust', 'channel_id as channelId'])
    .where(ofNetwork('network'), '=', network)
    .where('block_number', '<', beforeBlock)
    .where((eb) => eb.or([eb('robust', '=', named), eb('channel_id', '=', named)]))
    .orderBy('block_number')
    .execute()
}

/** Makes the table match the creations that the log holds. */
export async function updateChannelAddresses(trx: Trx, entries: WholeEntry[]): Promise<void> {
  const concerned = entries.filter(({ kind }) => kind === 'CreateChannel')
  const [first] = concerned
  if (first === undefined) return
  const keys = concerned.map((entry) => entry.naturalKey)
  await trx
    .deleteFrom('ledger.channel_addresses')
    .where('network', '=', first.network)
    .where('natural_key', '=', sql<string>`any(${keys}::text[])`)
    .execute()
  const rows = concerned.flatMap(({ network, naturalKey, blockNumber, event }) =>
    event?.kind === 'CreateChannel'
      ? [
          {
            network,
            natural_key: naturalKey,
            robust: event.channel,
            channel_id: event.channelId,
            block_number: blockNumber,
          },
        ]
      : [],
  )
  await copyRows(trx, 'ledger.channel_addresses', rows)
}
