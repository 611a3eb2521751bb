import { isEvmEvent, type ChainEvent } from '../../shared/events/chain-event.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'

const INIT_ACTOR = 'f01'

/** A payment channel that the log holds: its robust address, and its ID address on this fork. */
export interface KnownChannel {
  robust: string
  channelId: string
}

/**
 * Keeps the events that concern a payment channel. A source cannot know which receivers are channels, because only a
 * successful creation reveals one. Each message gets the robust address of its channel; messages to other receivers are
 * dropped. `known` are the channels made before these events; `events` are in chain order.
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
    // The message may have created a channel that cannot be identified, so it must stay visible.
    if (event.kind === 'UndecodableMessage' && canonicalAddress(event.to) === INIT_ACTOR) return [event]
    const channel = robustOf.get(event.to)
    return channel === undefined ? [] : [{ ...event, channel }]
  })
}

/** The channels that these events create. */
export function channelsMadeBy(events: ChainEvent[]): KnownChannel[] {
  return events.flatMap((event) =>
    event.kind === 'CreateChannel' ? [{ robust: event.channel, channelId: event.channelId }] : [],
  )
}

/** The receivers of messages, in any form of address; the log knows which of them are channels. */
export function receiversOf(events: ChainEvent[]): string[] {
  const receivers = events.flatMap((event) =>
    'to' in event && event.kind !== 'CreateChannel' ? [event.to] : [],
  )
  return [...new Set(receivers)]
}
