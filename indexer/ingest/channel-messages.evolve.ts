import { isEvmEvent, type ChainEvent } from '../../shared/events/chain-event.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'

const INIT_ACTOR = 'f01'

/** A payment channel that the log holds: its robust address, and the ID address it has in this branch. */
export interface KnownChannel {
  robust: string
  channelId: string
}

/**
 * What concerns a payment channel, of what a source read: a source cannot know which receivers are channels, for
 * only a successful creation tells. Each message gets the robust address of its channel; what is sent to anybody
 * else goes. `known` are the channels made before these events; `events` are in chain order.
 */
export function concerningChannels(events: ChainEvent[], known: KnownChannel[]): ChainEvent[] {
  const robustOf = new Map<string, string>()
  const learn = ({ robust, channelId }: KnownChannel): void => {
    robustOf.set(robust, robust)
    robustOf.set(channelId, robust)
  }
  known.forEach(learn)
  return events.flatMap((event): ChainEvent[] => {
    if (isEvmEvent(event) || event.kind === 'SignedVoucher' || event.kind === 'SignedStatement')
      return [event]
    if (event.kind === 'CreateChannel') {
      learn({ robust: event.channel, channelId: event.channelId })
      return [event]
    }
    // A channel may have been made, and nobody can tell which: that must not be lost from sight.
    if (event.kind === 'UndecodableMessage' && canonicalAddress(event.to) === INIT_ACTOR) return [event]
    const channel = robustOf.get(event.to)
    return channel === undefined ? [] : [{ ...event, channel }]
  })
}

/** The channels that these events make. */
export function channelsMadeBy(events: ChainEvent[]): KnownChannel[] {
  return events.flatMap((event) =>
    event.kind === 'CreateChannel' ? [{ robust: event.channel, channelId: event.channelId }] : [],
  )
}

/** The receivers of messages, by any form of address: those of them that are channels must be known. */
export function receiversOf(events: ChainEvent[]): string[] {
  const receivers = events.flatMap((event) =>
    'to' in event && event.kind !== 'CreateChannel' ? [event.to] : [],
  )
  return [...new Set(receivers)]
}
