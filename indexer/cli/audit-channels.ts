import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { HeldEntry } from '../../shared/events/log-entry.ts'
import { channelSubject, naturalKey } from '../../shared/events/natural-key.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { getHeldEntriesOf, getLastPosition } from '../event-log/read-log.ts'
import type { Channel } from '../../shared/channels/channel.evolve.ts'
import { getChannelsAfter } from '../projections/channels/read-channels.store.ts'
import type { WatchedFilecoinNetwork } from '../watched-networks.ts'
import type { AuditDifference } from './audit-difference.ts'
import { createProgress } from './context.ts'
import { countOf } from './count-of.ts'
import { verifyChannelState } from './verify-channel-state.ts'

const CHUNK = 100

/**
 * Compares every payment channel with the node and returns how many were compared. A living channel is compared with
 * its state at the indexed block. No node has the state of a collected channel, so its messages are read again.
 */
export async function auditChannels(
  trx: Trx,
  { network, source }: WatchedFilecoinNetwork,
  block: BlockRef,
  signal: AbortSignal,
  onDifference: (difference: AuditDifference) => void,
): Promise<number> {
  const progress = createProgress()
  const newest = await getLastPosition(trx)
  let audited = 0
  const show = (): void =>
    progress.show(`${network}: ${countOf(audited, 'channel')} compared at block ${block.number}`, {
      ...{ done: audited, total: null },
    })
  show()
  for (let afterId = 0; !signal.aborted;) {
    const channels = await getChannelsAfter(trx, network, afterId, CHUNK)
    const last = channels.at(-1)
    if (last === undefined) break
    afterId = last.id
    for (const { channel } of channels) {
      const found =
        channel.collection === null
          ? await compareState(source, channel, block)
          : await compareMessages(
              source,
              await getHeldEntriesOf(trx, [channelSubject(network, channel.robust)], newest),
            )
      const subject = `channel ${channel.channelId} (${channel.robust})`
      for (const difference of found) onDifference({ network, subject, ...difference })
      audited += 1
      show()
    }
  }
  progress.end()
  return audited
}

type Found = Pick<AuditDifference, 'field' | 'indexed' | 'onChain'>[]

async function compareState(
  source: WatchedFilecoinNetwork['source'],
  channel: Channel,
  block: BlockRef,
): Promise<Found> {
  const state = await source.readChannelState(channel.robust, block)
  if (state.found) return verifyChannelState(channel, state)
  return [{ field: 'state', indexed: 'not collected', onChain: state.reason }]
}

async function compareMessages(
  source: WatchedFilecoinNetwork['source'],
  entries: HeldEntry[],
): Promise<Found> {
  const found: Found = []
  const onChain = entries.filter(({ network }) => network === source.network).map(({ event }) => event)
  for (const height of new Set(onChain.map(({ blockNumber }) => blockNumber))) {
    const { events } = await source.readRange(height, height)
    const read = new Map(events.map((event) => [naturalKey(event), event]))
    for (const event of onChain.filter(({ blockNumber }) => blockNumber === height)) {
      const key = naturalKey(event)
      const there = read.get(key)
      const field = `message ${key}`
      if (there === undefined) found.push({ field, indexed: `at epoch ${height}`, onChain: null })
      else if (withoutChannel(there) !== withoutChannel(event))
        found.push({ field, indexed: withoutChannel(event), onChain: withoutChannel(there) })
    }
  }
  return found
}

/** A source does not know the channel of a message to an ID address; the writer resolved it. */
function withoutChannel(event: ChainEvent): string {
  return canonicalJson({ ...event, channel: null })
}
