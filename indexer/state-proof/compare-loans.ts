import type { Db } from '../../shared/db/connect.ts'
import { inOneState } from '../../shared/db/transaction.ts'
import type { ContractRole, UintText } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import { groupBy } from '../../shared/group-by.ts'
import { getHeldEntriesOf, getLastPosition } from '../event-log/read-log.ts'
import type { Difference } from '../cli/verify-loan-state.ts'
import type { EvmSource } from '../sources/evm/evm-source.ts'
import { NO_SUCH_LOAN } from '../sources/evm/proof/loan-storage.ts'
import { compareLoan, loanAt } from './loan-at.evolve.ts'

/** A loan by its contract's number, which the log need not have. */
export interface LoanOfContract {
  role: ContractRole
  contractLoanId: UintText
  /** The loan's subject in the log. */
  subject: string
  /** Whether the contract made it after the first block that is read, as far as anybody knows. */
  beganInLog: boolean
}

export interface ComparedLoan {
  loan: LoanOfContract
  /** Empty when log and contract agree. */
  differences: Difference[]
  /** False for a loan that is too long to be read; it differs only where the log lacks it. */
  isRead: boolean
  /** Whether the contract keeps the loan at the block. */
  isKept: boolean
}

/** The index that is compared with the contracts. */
export interface ProvenIndex {
  db: Db
  network: string
  source: EvmSource
}

/**
 * Compares loans as the log has them at the end of a block with contract storage, proven against the block's header. The
 * log must be written up to there. Throws a RetryableError when no endpoint can prove it.
 */
export async function compareLoans(
  { db, network, source }: ProvenIndex,
  loans: readonly LoanOfContract[],
  block: BlockRef,
): Promise<ComparedLoan[]> {
  const subjects = loans.map(({ subject }) => subject)
  const held = await inOneState(db, async (trx) =>
    getHeldEntriesOf(trx, subjects, await getLastPosition(trx)),
  )
  const ofSubject = groupBy(
    held.filter((entry) => entry.network === network),
    ({ subject }) => subject ?? '',
  )
  const answers = await source.proveLoanStates(loans, block)
  return loans.map((loan, index) => {
    const answer = answers[index] ?? { loan: null, reason: 'no answer' }
    const indexed = loanAt(ofSubject.get(loan.subject) ?? [], block.number)
    if (answer.loan === null && answer.reason !== NO_SUCH_LOAN) {
      const isLacking = indexed === undefined && loan.beganInLog
      const differences = isLacking ? [{ field: 'loan', indexed: null, onChain: answer.reason }] : []
      return { loan, differences, isRead: false, isKept: true }
    }
    const differences = compareLoan(indexed, answer.loan, loan.beganInLog)
    return { loan, differences, isRead: true, isKept: answer.loan !== null }
  })
}
