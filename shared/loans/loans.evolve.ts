import { isEvmLoanEvent, type ChainEvent, type EvmLoanEvent, type LoanType } from '../events/chain-event.ts'
import { compareByChain, type PlaceInChain } from '../events/event-place.ts'
import type { LogEntry } from '../events/log-entry.ts'
import { networkIdOf } from '../events/natural-key.ts'
import {
  evolveCollateralLock,
  initialCollateralLock,
  type CollateralLockEvent,
  type CollateralLockPart,
} from './collateral-lock.evolve.ts'
import {
  evolveErc20Loan,
  initialErc20Loan,
  type Erc20LoanEvent,
  type Erc20LoanPart,
} from './erc20-loan.evolve.ts'

/** A loan folded from the log. */
export interface Loan {
  loanType: LoanType
  loanId: string
  network: string
  part: Erc20LoanPart | CollateralLockPart
  /** Unix seconds of the events that opened the loan, agreed on it (approval, accepted offer) and ended it. */
  times: LoanTimes
  /** Place of the last folded event. */
  lastBlock: number
  lastLogIndex: number
}

export interface LoanTimes {
  openedS: number | null
  agreedS: number | null
  endedS: number | null
}

/** Folds one more entry of this loan, in chain order. An entry without a loan event changes nothing. */
export function evolveLoan(loan: Loan | undefined, entry: LogEntry): Loan | undefined {
  const { event } = entry
  if (event === null || !isEvmLoanEvent(event)) return loan
  const { loanId, blockNumber: lastBlock, logIndex: lastLogIndex } = event
  const { network } = entry
  const times = evolveTimes(loan?.times ?? { openedS: null, agreedS: null, endedS: null }, event)
  if (isErc20LoanEvent(event)) {
    const before =
      loan && 'erc20LoansContract' in loan.part ? loan.part : initialErc20Loan(event, chainOf(entry))
    const part = evolveErc20Loan(before, event)
    return { loanType: 'ERC20FIL', loanId, network, part, times, lastBlock, lastLogIndex }
  }
  if (isCollateralLockEvent(event)) {
    const before =
      loan && 'collateralLockContractAddress' in loan.part
        ? loan.part
        : initialCollateralLock(event, chainOf(entry))
    const part = evolveCollateralLock(before, event)
    return { loanType: 'FILERC20', loanId, network, part, times, lastBlock, lastLogIndex }
  }
  return loan
}

function chainOf({ blockchain, network }: LogEntry): { blockchain: string; networkId: string } {
  return { blockchain, networkId: networkIdOf(network) }
}

function evolveTimes(times: LoanTimes, { kind, blockTimeS }: EvmLoanEvent): LoanTimes {
  switch (kind) {
    case 'CreateLoanOffer':
    case 'CreateBorrowRequest':
      return { ...times, openedS: blockTimeS }
    case 'ApproveRequest':
    case 'AcceptOffer':
      return { ...times, agreedS: blockTimeS }
    case 'CancelLoan':
    case 'AcceptRepayment':
    case 'RefundPayback':
    case 'UnlockCollateral':
    case 'SeizeCollateral':
    case 'CancelBorrowRequest':
      // A contract accepts a repayment in any state, even after the loan ended.
      return { ...times, endedS: times.endedS ?? blockTimeS }
    case 'Withdraw':
    case 'Payback':
    case 'UnlockRefundableCollateral':
      return times
    default:
      return kind satisfies never
  }
}

/** Whether an event follows `last` of the same loan; only then can it be folded without the other entries. */
export function isAfter(event: PlaceInChain, last: PlaceInChain | null): boolean {
  return last === null || compareByChain(last, event) < 0
}

function isErc20LoanEvent(event: ChainEvent): event is Erc20LoanEvent {
  return isEvmLoanEvent(event) && event.role === 'erc20Loans'
}

function isCollateralLockEvent(event: ChainEvent): event is CollateralLockEvent {
  return isEvmLoanEvent(event) && event.role === 'erc20CollateralLock'
}
