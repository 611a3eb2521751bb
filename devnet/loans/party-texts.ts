import { delegatedAddressOf, type Cast } from './cast.ts'
import type { FilecoinHalf } from './filecoin-half.ts'

/**
 * What a loan's contract is told of its parties on Filecoin: a robust address, their ID address now and then, and a
 * delegated address where nothing will happen on Filecoin.
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
