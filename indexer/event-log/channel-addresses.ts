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
  const { rows } = await sql<ChannelAddress>`
    select robust, channel_id as "channelId" from ledger.channel_addresses
    where ${ofNetwork('network')} = ${network} and block_number < ${beforeBlock}::bigint
      and (robust = any(${addresses}) or channel_id = any(${addresses}))
    order by block_number`.execute(db)
  return rows
}

/** Makes the table match the creations that the log holds. */
export async function updateChannelAddresses(trx: Trx, entries: WholeEntry[]): Promise<void> {
  const concerned = entries.filter(({ kind }) => kind === 'CreateChannel')
  const [first] = concerned
  if (first === undefined) return
  await sql`delete from ledger.channel_addresses
    where network = ${first.network} and natural_key = any(${concerned.map((entry) => entry.naturalKey)})`.execute(
    trx,
  )
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
