import type { EvmEventKind } from '../../../shared/events/chain-event.ts'

/**
 * (pure) The state in which each event leaves its loan, as `fetchLoan` numbers them (docs/protocol.md, section 2). The
 * borrower's share of a seizure comes in the transaction that seized.
 */
export const STATE_AFTER: Record<EvmEventKind, number> = {
  CreateLoanOffer: 0,
  ApproveRequest: 1,
  Withdraw: 2,
  Payback: 3,
  RefundPayback: 4,
  AcceptRepayment: 5,
  CancelLoan: 6,
  CreateBorrowRequest: 0,
  AcceptOffer: 1,
  SeizeCollateral: 2,
  UnlockRefundableCollateral: 2,
  UnlockCollateral: 3,
  CancelBorrowRequest: 4,
}
