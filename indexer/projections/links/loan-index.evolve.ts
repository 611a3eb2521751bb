import type { LoanFacts } from '../../../shared/loans/loan-facts.evolve.ts'

/** Loans by each kind of evidence; every list is in the order of subjects. */
export type LoanIndex = Record<'byChannel' | 'bySecretHash' | 'byContractLoanId' | 'byParty', Loans>
type Loans = Map<string, LoanFacts[]>

export function indexLoans(loans: readonly LoanFacts[]): LoanIndex {
  const index: LoanIndex = {
    byChannel: new Map(),
    bySecretHash: new Map(),
    byContractLoanId: new Map(),
    byParty: new Map(),
  }
  const put = (map: Loans, key: string | null, loan: LoanFacts): void => {
    if (key === null) return
    const list = map.get(key)
    if (list === undefined) map.set(key, [loan])
    else if (list.at(-1) !== loan) list.push(loan)
  }
  for (const loan of [...loans].sort((a, b) => (subjectOf(a) < subjectOf(b) ? -1 : 1))) {
    put(index.byChannel, loan.namedChannel, loan)
    put(index.bySecretHash, loan.secretHashA1, loan)
    put(index.bySecretHash, loan.secretHashB1, loan)
    put(index.byContractLoanId, loan.contractLoanId, loan)
    put(index.byParty, loan.borrower, loan)
    put(index.byParty, loan.lender, loan)
  }
  return index
}

function subjectOf({ loanType, loanId }: LoanFacts): string {
  return `${loanType}/${loanId}`
}
