import { STRENGTH, type Link } from '../links/link.evolve.ts'
import type { LoanFacts } from '../../../shared/loans/loan-facts.evolve.ts'
import { vouchersFor } from '../../../shared/channels/channel-records.evolve.ts'
import type { Channel } from '../../../shared/channels/channel.evolve.ts'

/** A channel that claims a place: one role of one loan. */
export interface Claimant {
  channel: Channel
  link: Link
}

/** Whether the funds return to their funder: the channel was settled or collected without a redemption. */
export function isGivenUp({ settlement, collection, redemptions }: Channel): boolean {
  return (settlement !== null || collection !== null) && redemptions.length === 0
}

/**
 * Negative if `a` has the better right to the place. The channel that the contract names comes first; then those not
 * given up, by link, progress and age. The order depends on the channels and the loan alone.
 */
export function compareRights(a: Claimant, b: Claimant, loan: LoanFacts | undefined): number {
  const [left, right] = [rightOf(a, loan), rightOf(b, loan)]
  for (const [index, value] of left.entries()) {
    const difference = (right[index] ?? 0) - value
    if (difference !== 0) return difference
  }
  return a.channel.robust < b.channel.robust ? -1 : 1
}

/** The criteria in order; the greater number wins. */
function rightOf({ channel, link }: Claimant, loan: LoanFacts | undefined): number[] {
  return [
    link.strength === STRENGTH.contract ? 1 : 0,
    isGivenUp(channel) ? 0 : 1,
    link.strength,
    progressOf(channel, link, loan),
    -channel.createdEpoch,
  ]
}

/** 0 made, 1 signed for, 2 redeemed. */
function progressOf(channel: Channel, { role }: Link, loan: LoanFacts | undefined): number {
  if (channel.redemptions.length > 0) return 2
  if (loan === undefined) return 0
  return vouchersFor(role === 'collateral' ? 'seize' : 'pay', role, channel, loan).length > 0 ? 1 : 0
}
