import { canonicalAddress } from '../../shared/filecoin/address.ts'
import { voucherFromText } from '../../shared/filecoin/voucher.ts'
import { namesOf, type Channel, type Redemption } from '../projections/channels/channel.evolve.ts'
import type { Difference } from './verify-loan-state.ts'

/** What a node says of a channel: attoFIL as decimal text, epochs, parties by their IDs. */
export interface StateOnChain {
  id: string
  from: string
  to: string
  balance: string
  toSend: string
  settlingAt: number
}

/** What the messages of a channel come to, against the state that the node holds of it at the same block. */
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

/**
 * What is to be paid to the recipient, by the actor's rule: a voucher's amount is the lane's total, and what its merged
 * lanes were paid already counts towards it. Null where a voucher is too long to have been kept.
 */
export function toSend(redemptions: readonly Redemption[]): bigint | null {
  const redeemed = new Map<bigint, bigint>()
  let total = 0n
  for (const { facts } of redemptions) {
    if (facts.text === null) return null
    const { lane, amount, merges } = voucherFromText(facts.text)
    const before = [lane, ...merges.map((merge) => merge.lane)].reduce(
      (sum, one) => sum + (redeemed.get(one) ?? 0n),
      0n,
    )
    total += amount - before
    redeemed.set(lane, amount)
  }
  return total
}
