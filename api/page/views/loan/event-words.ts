/** (pure) The events of the history in words. */

export interface EventWords {
  title: string
  by: 'borrower' | 'lender' | null
}

const WORDS: Record<string, readonly [title: string, by: EventWords['by']]> = {
  CreateLoanOffer: ['Loan offered', 'lender'],
  ApproveRequest: ['Borrower approved', 'lender'],
  Withdraw: ['Principal withdrawn', 'borrower'],
  Payback: ['Paid back', 'borrower'],
  AcceptRepayment: ['Payback accepted', 'lender'],
  RefundPayback: ['Payback refunded', 'borrower'],
  CancelLoan: ['Offer cancelled', 'lender'],
  CreateBorrowRequest: ['Loan requested', 'borrower'],
  AcceptOffer: ['Lender accepted', 'borrower'],
  UnlockCollateral: ['Collateral unlocked', 'borrower'],
  SeizeCollateral: ['Collateral seized', 'lender'],
  UnlockRefundableCollateral: ['Rest returned', 'borrower'],
  CancelBorrowRequest: ['Request cancelled', 'borrower'],
  'LendERC20/LockCollateral': ['Collateral locked', 'borrower'],
  'LendERC20/SignCollateralVoucher': ['Seize voucher signed', 'borrower'],
  'LendERC20/SignUnlockCollateralVoucher': ['Unlock voucher signed', 'lender'],
  'LendERC20/RedeemSeizeCollateralVoucher': ['Seize voucher redeemed', 'lender'],
  'LendERC20/SettleSeizeCollateral': ['Channel closing', null],
  'LendERC20/CollectSeizeCollateral': ['Paid out to the lender', null],
  'LendERC20/RedeemUnlockCollateralVoucher': ['Unlock voucher redeemed', 'borrower'],
  'LendERC20/SettleUnlockCollateral': ['Channel closing', null],
  'LendERC20/CollectUnlockCollateral': ['Paid out to the borrower', null],
  'LendFIL/CreatePaymentChannel': ['Principal funded', 'lender'],
  'LendFIL/SignWithdrawVoucher': ['Withdraw voucher signed', 'lender'],
  'LendFIL/RedeemWithdrawVoucher': ['Withdraw voucher redeemed', 'borrower'],
  'LendFIL/SettleWithdraw': ['Principal channel closing', null],
  'LendFIL/CollectWithdraw': ['Principal paid out', null],
  'LendFIL/PaybackPaymentChannel': ['Payback funded', 'borrower'],
  'LendFIL/SignPaybackVoucher': ['Payback voucher signed', 'borrower'],
  'LendFIL/RedeemPaybackVoucher': ['Payback voucher redeemed', 'lender'],
  'LendFIL/SettlePayback': ['Payback channel closing', null],
  'LendFIL/CollectPayback': ['Payback paid out', null],
}

/** An event that the page does not know yet is shown by its name. */
export function eventWords(event: string): EventWords {
  const known = Object.hasOwn(WORDS, event) ? WORDS[event] : undefined
  if (known === undefined) return { title: event, by: null }
  const [title, by] = known
  return { title, by }
}

/** A signature is made off-chain: its record has a voucher where others have a transaction. */
export function isOffChain(event: string): boolean {
  return event.includes('/Sign')
}
