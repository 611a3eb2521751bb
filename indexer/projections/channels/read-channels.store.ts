import type { Db } from '../../../shared/db/connect.ts'
import type { Trx } from '../../../shared/db/transaction.ts'
import { LIVE_SCHEMA } from '../projection.ts'
import type { Channel } from '../../../shared/channels/channel.evolve.ts'

export interface ListedChannel {
  id: number
  channel: Channel
}

/** Channels of one network with ids above `afterId`, in id order. */
export async function getChannelsAfter(
  db: Db | Trx,
  network: string,
  afterId: number,
  limit: number,
): Promise<ListedChannel[]> {
  const rows = await db
    .withSchema(LIVE_SCHEMA)
    .selectFrom('channels')
    .select(['id', 'state'])
    .where('network', '=', network)
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id, state }) => ({ id, channel: state as Channel }))
}
