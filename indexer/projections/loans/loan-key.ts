import type { LoanType } from '../../../shared/events/chain-event.ts'

export const LOAN_KEY = { loan_type: 'text', loan_id: 'text' } as const

/** A loan's subject is `<loan type>/<loan id>`; the first slash separates them. */
export function loanKeyOf(subject: string): { loan_type: LoanType; loan_id: string } {
  const slash = subject.indexOf('/')
  return { loan_type: subject.slice(0, slash) as LoanType, loan_id: subject.slice(slash + 1) }
}
