import type { LoanType } from '../../../shared/events/chain-event.ts'
import { listOfState } from '../../../shared/events/loan-lists.ts'
import { addressIn } from '../../../shared/loans/loan-facts.evolve.ts'
import type { Loan } from '../../../shared/loans/loans.evolve.ts'

/** The Filecoin side of a loan, as far as it adds to the contract's half. */
export interface FilecoinSide {
  /** '0.5' where the Filecoin side is ahead of the contract; null where the contract's own state is shown. */
  derivedState: string | null
  /** Canonical address of the party that the contract does not name yet and that a channel does; else null. */
  channelParty: string | null
  /** Unix seconds at which the lender of tokens settled the collateral with the seize voucher; else null. */
  seizedS: number | null
}

/** The lists in which a loan is found: that of its state, and one for each address of a party. */
export function listsOf(loanType: LoanType, part: Loan['part'], side: FilecoinSide): string[] {
  const parties = [part.borrower?.toLowerCase(), part.lender?.toLowerCase()]
  const filecoinParties = [addressIn(part.filBorrower), addressIn(part.filLender), side.channelParty]
  const accounts = [...parties, ...filecoinParties].filter((one) => one !== undefined && one !== null)
  return [...new Set([listOfState(loanType, side.derivedState ?? part.state), ...accounts])]
}
