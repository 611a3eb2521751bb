import { STRENGTH, type Link } from '../links/link.evolve.ts'
import type { LoanFacts } from '../links/loan-facts.evolve.ts'
import { vouchersFor } from './channel-records.evolve.ts'
import type { Channel } from './channel.evolve.ts'

/** A channel with a claim to a place: one role of one loan. */
export interface Claimant {
  channel: Channel
  link: Link
}

/** Whether its funds go back to whoever made it: it was settled and nothing redeemed. */
export function isGivenUp({ settlement, collection, redemptions }: Channel): boolean {
  return (settlement !== null || collection !== null) && redemptions.length === 0
}

/**
 * Less than 0 where `a` has the better right to the place. First the channel that the contract names; then those that
 * are not given up, by their links, by how far they came, and by age. It depends on the channels and the loan alone.
 */
export function compareRights(a: Claimant, b: Claimant, loan: LoanFacts | undefined): number {
  const [left, right] = [rightOf(a, loan), rightOf(b, loan)]
  for (const [index, value] of left.entries()) {
    const difference = (right[index] ?? 0) - value
    if (difference !== 0) return difference
  }
  return a.channel.robust < b.channel.robust ? -1 : 1
}

/** What decides, in turn: of each the greater number comes first. */
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
