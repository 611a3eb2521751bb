import { sql } from 'kysely'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Channel } from '../../shared/channels/channel.evolve.ts'
import type { Db } from '../../shared/db/connect.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import { compareLists } from '../compare.ts'
import type { Action } from './channel-lives.ts'

/** Compares the log and all channels with the actions, entry by entry; throws at the first difference. */
export async function compareWithLives(db: Db, actions: readonly Action[]): Promise<void> {
  const entries = await sql<{ op: string; key: string; body: unknown }>`
    select op, natural_key as key, body from ledger.event_log order by position`.execute(db)
  compareLists(
    'entries of the log',
    entries.rows.map(({ op, key, body }) => `${op} ${key} ${canonicalJson(body)}`),
    actions.map(({ event }) => `append ${naturalKey(event)} ${canonicalJson(event)}`),
  )
  const channels = await sql<{ robust: string; state: Channel }>`
    select robust, state from projection.channels order by id`.execute(db)
  compareLists(
    'channels',
    channels.rows.map(({ robust, state }) => `${robust} ${endOf(state)}`),
    livesOf(actions),
  )
}

/** Summarizes a channel: its redeemed amounts, its settlement, and the message that collected it. */
function endOf({ redemptions, settlement, collection }: Channel): string {
  const amounts = redemptions.map(({ facts }) => facts.amount)
  return `${amounts.join()} ${settlement?.settlingAtEpoch ?? 'open'} ${collection?.cid ?? 'not collected'}`
}

function livesOf(actions: readonly Action[]): string[] {
  const lives = new Map<string | null, string[]>()
  for (const { event } of actions) {
    const life = lives.get(event.channel) ?? []
    lives.set(event.channel, life)
    if (event.kind === 'UpdateChannel') life.push(event.voucher.amount)
    if (event.kind === 'SettleChannel') life.push(String(event.settlingAtEpoch))
    if (event.kind === 'CollectChannel') life.push(event.txHash)
  }
  return [...lives].map(([channel, life]) => `${channel ?? ''} ${life.join(' ')}`)
}
