import { lanesOf } from '../../shared/channels/lanes.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'
import { namesOf, type Channel, type Redemption } from '../../shared/channels/channel.evolve.ts'
import type { Difference } from './verify-loan-state.ts'

/** A node's view of a channel: attoFIL as decimal text, epochs, parties as ID addresses. */
export interface StateOnChain {
  id: string
  from: string
  to: string
  balance: string
  toSend: string
  settlingAt: number
}

/** Compares the state derived from a channel's messages with the node's state at the same block. */
export function verifyChannelState(channel: Channel, found: StateOnChain): Difference[] {
  const expected = {
    id: channel.channelId,
    from: sameParty(namesOf(channel.from), found.from, channel.from.asWritten),
    to: sameParty(namesOf(channel.recipient), found.to, channel.recipient.asWritten),
    balance: channel.deposits,
    toSend: toSend(channel.redemptions)?.toString() ?? found.toSend,
    settlingAt: String(channel.settlement?.settlingAtEpoch ?? 0),
  }
  const onChain = { ...found, settlingAt: String(found.settlingAt) }
  return (Object.keys(expected) as (keyof typeof expected)[]).flatMap((field) =>
    expected[field] === onChain[field] ? [] : [{ field, indexed: expected[field], onChain: onChain[field] }],
  )
}

function sameParty(names: string[], found: string, asWritten: string): string {
  const name = canonicalAddress(found)
  return name !== null && names.includes(name) ? found : asWritten
}

/** Returns the attoFIL owed to the recipient, by the actor's rule; null when a voucher was too long to be kept. */
export function toSend(redemptions: Redemption[]): bigint | null {
  if (redemptions.some(({ facts }) => facts.text === null)) return null
  return lanesOf({ redemptions }).toSend
}
