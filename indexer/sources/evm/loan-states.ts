import type { EvmEventKind } from '../../../shared/events/chain-event.ts'

/**
 * (pure) State in which each event leaves its loan, numbered as by `fetchLoan` (docs/protocol.md, section 2). A seizure
 * also emits `UnlockRefundableCollateral` (the borrower's share), in the same transaction.
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
