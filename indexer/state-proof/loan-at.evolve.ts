import { isEvmLoanEvent } from '../../shared/events/chain-event.ts'
import type { HeldEntry } from '../../shared/events/log-entry.ts'
import { evolveLoan, type Loan } from '../../shared/loans/loans.evolve.ts'
import { verifyLoanState, type Difference } from '../cli/verify-loan-state.ts'
import type { LoanState } from '../sources/evm/decode-loan.ts'

/** (pure) A loan as the log has it at the end of a block. */
export interface LoanAt {
  part: Loan['part']
  /** Decimals from the event that opened the loan; null if the token has none. */
  tokenDecimals: number | null
  isBeginningRead: boolean
  /** False where no node had the terms of an event. */
  areTermsRead: boolean
}

/** Folds the entries of one loan, in chain order, up to a block; undefined if it has none there. */
export function loanAt(entries: readonly HeldEntry[], block: number): LoanAt | undefined {
  const held = entries.filter(({ event }) => event.blockNumber <= block)
  let loan: Loan | undefined
  let tokenDecimals: number | null = null
  let areTermsRead = true
  for (const entry of held) {
    loan = evolveLoan(loan, entry)
    const { event } = entry
    if (event.kind === 'CreateLoanOffer' || event.kind === 'CreateBorrowRequest')
      tokenDecimals = event.tokenDecimals
    if (isEvmLoanEvent(event) && event.terms.unknown !== undefined) areTermsRead = false
  }
  return (
    loan && { part: loan.part, tokenDecimals, areTermsRead, isBeginningRead: loan.times.openedS !== null }
  )
}

/**
 * Compares a loan of the log with the contract's at the same block; null stands for a loan that the contract lacks.
 * `beganInLog`: the contract made the loan after the first block that was read, so that its first event must be there.
 * An older loan may lack events before its first known one: it does not differ there, so a search finds a later block.
 */
export function compareLoan(
  indexed: LoanAt | undefined,
  state: LoanState | null,
  beganInLog: boolean,
): Difference[] {
  if (indexed === undefined)
    return state === null || !beganInLog
      ? []
      : [{ field: 'loan', indexed: null, onChain: `state ${state.state}` }]
  if (state === null) return [{ field: 'loan', indexed: `state ${indexed.part.state}`, onChain: null }]
  const { part, tokenDecimals, isBeginningRead, areTermsRead } = indexed
  if (beganInLog && !isBeginningRead)
    return [{ field: 'first event', indexed: null, onChain: 'after startBlock' }]
  return verifyLoanState({ ...part }, state, tokenDecimals, isBeginningRead && areTermsRead)
}
