import { canonicalAddress } from '../../../shared/filecoin/address.ts'
import { namesOf, type Channel } from '../../../shared/channels/channel.evolve.ts'
import { claimsOf, PROOF, STRENGTH, type Claim, type Link, type NamedChannels } from './link.evolve.ts'
import type { LoanFacts } from '../../../shared/loans/loan-facts.evolve.ts'
import type { LoanIndex } from './loan-index.evolve.ts'

export interface LinkDecision {
  link: Link | null
  /**
   * Subjects of the loans with a claim: a change of one of them repeats the decision. Only a few loans tied by their
   * parties alone are listed, because two are as undecided as a thousand.
   */
  claimants: string[]
}

/**
 * Decides which loan a channel belongs to, by protocol.md section 5: the strongest claim wins. Equally strong claims by
 * two loans or roles decide nothing, unless something signed on Filecoin supports one. Anybody can write any channel
 * into a contract of their own. Between matches by parties, a loan that had not ended comes first. The result depends
 * only on the channels and loans, not on their order of arrival.
 */
export function linkChannel(channel: Channel, loans: LoanIndex, named: NamedChannels): LinkDecision {
  const claims = claimsOn(channel, loans, named)
  return {
    link: decide(claims),
    claimants: [...new Set(claims.map(({ loanType, loanId }) => `${loanType}/${loanId}`))].sort(),
  }
}

function decide(claims: readonly Claim[]): Link | null {
  let best = most(claims, ({ strength }) => strength)
  if (best[0]?.strength === STRENGTH.parties) best = most(best, ({ isOpen }) => Number(isOpen))
  else {
    best = most(best, ({ proof }) => proof)
    // A contract that copies the hash is agreed later than the original.
    if ((best[0]?.proof ?? 0) > PROOF.parties) best = most(best, ({ agreedS }) => -agreedS)
  }
  const [claim] = best
  if (claim === undefined || best.length > 1) return null
  const { loanType, loanId, role, strength } = claim
  return { loanType, loanId, role, strength }
}

/** The claims with the greatest value. */
function most(claims: readonly Claim[], valueOf: (claim: Claim) => number): Claim[] {
  const greatest = Math.max(...claims.map(valueOf))
  return claims.filter((claim) => valueOf(claim) === greatest)
}

/** Claims of all loans with strong evidence, and of a few that match by their parties alone. */
function claimsOn(channel: Channel, loans: LoanIndex, named: NamedChannels): Claim[] {
  const names = {
    addresses: [channel.robust, channel.channelId].map(canonicalAddress),
    from: namesOf(channel.from),
    recipient: namesOf(channel.recipient),
    named,
  }
  const strong = new Set<LoanFacts>([
    ...found(loans.byChannel, names.addresses),
    ...found(
      loans.bySecretHash,
      channel.vouchers.map(({ facts }) => facts.secretHash),
    ),
    ...found(
      loans.byContractLoanId,
      channel.statements.map(({ contractLoanId }) => contractLoanId),
    ),
  ])
  const claims = [...strong].flatMap((loan) => claimsOf(loan, channel, names))
  const byParties = claims.filter(({ strength }) => strength === STRENGTH.parties)
  let open = byParties.filter(({ isOpen }) => isOpen).length
  let ended = byParties.length - open
  for (const loan of new Set(found(loans.byParty, [...names.from, ...names.recipient]))) {
    if (open >= 2) break
    if (strong.has(loan)) continue
    for (const claim of claimsOf(loan, channel, names)) {
      if (claim.isOpen) open += 1
      else ended += 1
      if (claim.isOpen || ended <= 2) claims.push(claim)
    }
  }
  return claims
}

function found(index: Map<string, LoanFacts[]>, keys: readonly (string | null)[]): LoanFacts[] {
  return keys.flatMap((key) => (key === null ? [] : (index.get(key) ?? [])))
}
