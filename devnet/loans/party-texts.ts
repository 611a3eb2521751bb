import { delegatedAddressOf, type Cast } from './cast.ts'
import type { FilecoinHalf } from './filecoin-half.ts'

/**
 * Returns the Filecoin addresses of the parties for a loan's contract. They are usually robust, sometimes an ID address,
 * and delegated where nothing happens on Filecoin for the loan.
 */
export function partyTexts(
  cast: Cast,
  half: FilecoinHalf,
  loan: { plan: string; lender: string; borrower: string },
): { lender: string; borrower: string } {
  const { byId, beforeAgreement, madeByThird } = half.choices
  const staysAway = loan.plan === 'leaveOpen' && beforeAgreement === 'nothing' && !madeByThird
  const text = (name: string, account: string): string => {
    if (staysAway) return delegatedAddressOf(account)
    return (byId ? cast.id(name) : undefined) ?? cast.address(name)
  }
  return { lender: text(half.lender, loan.lender), borrower: text(half.borrower, loan.borrower) }
}
