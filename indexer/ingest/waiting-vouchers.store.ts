import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { HandedIn } from '../../shared/events/handed-in.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import type { Trx } from '../../shared/db/transaction.ts'

/** Something that cannot be judged yet: its channel is not known, or not yet as it must be for this. */
export interface Waiting {
  id: number
  network: string
  /** As the voucher or statement names the channel, with the letter of the network. */
  channelAddr: string
  item: HandedIn
  way: HandInWay
  reason: string
}

/** A hostile producer can fill no more than this. */
export const WAITING_KEPT = 10_000
export const WAITING_PER_CHANNEL = 64

/** Keeps it once, or notes that it was looked at again. Returns those that had to go for it: the oldest. */
export async function putWaiting(
  trx: Trx,
  waiting: Omit<Waiting, 'id'> & { digest: string; lookedPosition: number },
): Promise<Waiting[]> {
  const { network, digest, channelAddr, item, way, reason, lookedPosition } = waiting
  const { numInsertedOrUpdatedRows } = await trx
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
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return []
  return [
    ...(await takeOldest(
      trx,
      sql`network = ${network} and channel_addr = ${channelAddr}`,
      WAITING_PER_CHANNEL,
    )),
    ...(await takeOldest(trx, sql`true`, WAITING_KEPT)),
  ]
}

async function takeOldest(trx: Trx, which: ReturnType<typeof sql>, kept: number): Promise<Waiting[]> {
  const { rows } = await sql<WaitingRow>`
    delete from ledger.waiting_vouchers where ${which} and id <= (
      select id from ledger.waiting_vouchers where ${which} order by id desc offset ${kept} limit 1)
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

/** Those of whose channel the log learned something since they were looked at last, oldest first. */
export async function getAwaited(db: Db, network: string, limit: number): Promise<Waiting[]> {
  const subject = `channel/${network.slice(network.indexOf(':') + 1)}/`
  const { rows } = await sql<WaitingRow>`
    select w.id, w.network, w.channel_addr, w.payload, w.way, w.reason
    from ledger.waiting_vouchers w
    where w.network = ${network} and exists (
      select 1 from ledger.channel_addresses c join ledger.event_log l
        on l.subject = ${subject} || c.robust and l.position > w.looked_position
      where c.network = w.network and (c.robust = w.channel_addr or c.channel_id = w.channel_addr))
    order by w.id limit ${limit}`.execute(db)
  return rows.map(toWaiting)
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
