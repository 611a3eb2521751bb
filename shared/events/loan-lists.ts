import type { LoanType } from './chain-event.ts'

/**
 * The names of the lists that find loans: one for each market and state as shown, and one for each account. An account's
 * list has its name: an EVM address in lower case, or a canonical Filecoin address.
 */
export function listOfState(loanType: LoanType, state: string): string {
  return `${loanType}/${state}`
}
