import type { LoanFacts } from '../../shared/loans/loan-facts.evolve.ts'

/** A new FIL loan whose contract has given only the hash of the secret that repays it. */
export function loanWithHashB1(secretHashB1: string): LoanFacts {
  return {
    loanType: 'FILERC20',
    loanId: '7',
    contractLoanId: '7',
    contract: '0x00000000000000000000000000000000000000C1',
    networkId: '31337',
    namedChannel: null,
    borrower: null,
    lender: null,
    secretHashA1: null,
    secretHashB1,
    requestedAttoFil: null,
    times: { openedS: 0, agreedS: null, endedS: null },
  }
}
