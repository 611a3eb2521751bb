import { sql, type RawBuilder } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { HandedIn } from '../../shared/events/handed-in.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { channelSubject } from '../../shared/events/natural-key.ts'
import { ofNetwork } from '../event-log/of-network.ts'

/** An item that cannot be judged yet: its channel is unknown, or not yet in the required state. */
export interface Waiting {
  id: number
  network: string
  /** The channel as the voucher or statement names it, with the network's letter. */
  channelAddr: string
  item: HandedIn
  way: HandInWay
  reason: string
}

/** Limit of all waiting items: a hostile producer can fill no more. */
export const WAITING_KEPT = 10_000
/**
 * Limit for one channel; later items are refused. Items that a party signed have twice as many places, so that unsigned
 * ones can never take all of them.
 */
export const WAITING_PER_CHANNEL = 64

/** `isKept` is false if there was no place. `evicted` are the oldest items of all channels that had to make room. */
export type Place = { isKept: true; evicted: Waiting[] } | { isKept: false }

/** Stores the item once, or updates the reason and the position of the last look. */
export async function putWaiting(
  trx: Trx,
  waiting: Omit<Waiting, 'id'> & { digest: string; lookedPosition: number; isSigned: boolean },
): Promise<Place> {
  const { network, digest, channelAddr, item, way, reason, lookedPosition, isSigned } = waiting
  const { numUpdatedRows } = await trx
    .updateTable('ledger.waiting_vouchers')
    .set({ reason, looked_position: lookedPosition })
    .where('network', '=', network)
    .where('digest', '=', digest)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return { isKept: true, evicted: [] }
  const { count } = await trx
    .selectFrom('ledger.waiting_vouchers')
    .select(sql<number>`count(*)`.as('count'))
    .where('network', '=', network)
    .where('channel_addr', '=', channelAddr)
    .executeTakeFirstOrThrow()
  if (count >= WAITING_PER_CHANNEL * (isSigned ? 2 : 1)) return { isKept: false }
  await trx
    .insertInto('ledger.waiting_vouchers')
    .values({
      network,
      digest,
      channel_addr: channelAddr,
      payload: JSON.stringify(item),
      way,
      reason,
      looked_position: lookedPosition,
    })
    .onConflict((conflict) =>
      conflict.columns(['network', 'digest']).doUpdateSet({ reason, looked_position: lookedPosition }),
    )
    .execute()
  return { isKept: true, evicted: await takeOldest(trx) }
}

async function takeOldest(trx: Trx): Promise<Waiting[]> {
  const { rows } = await sql<WaitingRow>`
    delete from ledger.waiting_vouchers where id <= (
      select id from ledger.waiting_vouchers order by id desc offset ${WAITING_KEPT} limit 1)
    returning id, network, channel_addr, payload, way, reason`.execute(trx)
  return rows.map(toWaiting)
}

export async function removeWaiting(trx: Trx, network: string, digest: string): Promise<void> {
  await trx
    .deleteFrom('ledger.waiting_vouchers')
    .where('network', '=', network)
    .where('digest', '=', digest)
    .execute()
}

/** How far a network is known: the log's position, and the epoch up to which no reorg changes it (-1: none). */
export interface Known {
  position: number
  finalizedEpoch: number
}

/** Selects the waiting items to judge again, by ascending id after `afterId`. */
export interface Look {
  from: Known
  to: Known
  /** All rows, or only those of channels that changed between `from` and `to`. */
  of: 'all' | 'changed'
  afterId: number
  limit: number
}

/**
 * The items whose channel gained log entries since the last look, or entries that became final between `from` and `to`.
 * `changed` starts from the channels and costs nothing for the rows of others. It misses what another transaction
 * commits meanwhile, which `all` finds.
 */
export async function getAwaited(db: Db, network: string, look: Look): Promise<Waiting[]> {
  const { rows } = await (
    look.of === 'all' ? awaitedOfAll(network, look) : awaitedOfChanged(network, look)
  ).execute(db)
  return rows.map(toWaiting)
}

function awaitedOfAll(network: string, { from, to, afterId, limit }: Look): RawBuilder<WaitingRow> {
  return sql<WaitingRow>`
    select w.id, w.network, w.channel_addr, w.payload, w.way, w.reason
    from ledger.waiting_vouchers w
    where w.network = ${network} and w.id > ${afterId}::bigint and exists (
      select 1 from ledger.channel_addresses c join ledger.event_log l on l.subject = ${channelSubject(network, '')} || c.robust
      where ${ofNetwork('c.network')} = w.network and (c.robust = w.channel_addr or c.channel_id = w.channel_addr)
        and (l.position > w.looked_position
          or (l.block_number > ${from.finalizedEpoch}::bigint and l.block_number <= ${to.finalizedEpoch}::bigint)))
    order by w.id limit ${limit}`
}

function awaitedOfChanged(network: string, { from, to, afterId, limit }: Look): RawBuilder<WaitingRow> {
  const prefix = channelSubject(network, '')
  // Plain SQL: the builder has no materialized union. Position and block select few rows; the prefix of subjects would
  // select half the log.
  return sql<WaitingRow>`
    with learned as materialized (
      select subject, max(position) as position from ledger.event_log
      where position > ${from.position}::bigint and starts_with(subject || '', ${prefix}) group by subject
      union all
      select distinct subject, ${Number.MAX_SAFE_INTEGER}::bigint from ledger.event_log
      where network = ${network} and starts_with(subject || '', ${prefix})
        and block_number > ${from.finalizedEpoch}::bigint and block_number <= ${to.finalizedEpoch}::bigint
    ), changed as materialized (
      select robust, channel_id, max(l.position) as position from learned l join ledger.channel_addresses
        on ${ofNetwork('network')} = ${network} and robust = substr(l.subject, ${prefix.length + 1}::integer)
      group by robust, channel_id
    )
    select w.id, w.network, w.channel_addr, w.payload, w.way, w.reason
    from ledger.waiting_vouchers w join (
      select robust as addr, position from changed union select channel_id, position from changed
    ) named on w.channel_addr = named.addr and named.position > w.looked_position
    where w.network = ${network} and w.id > ${afterId}::bigint
    order by w.id limit ${limit}`
}

interface WaitingRow {
  id: number
  network: string
  channel_addr: string
  payload: HandedIn
  way: HandInWay
  reason: string
}

function toWaiting({ channel_addr: channelAddr, payload: item, ...row }: WaitingRow): Waiting {
  return { ...row, channelAddr, item }
}
