import { sql } from 'kysely'
import type { Db } from '../../../shared/db/connect.ts'
import type { Trx } from '../../../shared/db/transaction.ts'
import { LIVE_SCHEMA } from '../projection.ts'
import type { Channel } from './channel.evolve.ts'

export interface ListedChannel {
  id: number
  channel: Channel
}

/** Channels of one network, by id, after `afterId`. */
export async function getChannelsAfter(
  db: Db | Trx,
  network: string,
  afterId: number,
  limit: number,
): Promise<ListedChannel[]> {
  const { rows } = await sql<ListedChannel>`
    select id, state as channel from ${sql.table(`${LIVE_SCHEMA}.channels`)}
    where network = ${network} and id > ${afterId} order by id limit ${limit}`.execute(db)
  return rows
}
