/** The kinds of event, in the groups in which the page offers them. Pure. */
export const EVENT_GROUPS = [
  {
    title: 'Tokens lent, EVM',
    events: [
      'CreateLoanOffer',
      'ApproveRequest',
      'Withdraw',
      'Payback',
      'AcceptRepayment',
      'RefundPayback',
      'CancelLoan',
    ],
  },
  {
    title: 'Tokens lent, Filecoin',
    events: [
      'LendERC20/LockCollateral',
      'LendERC20/SignCollateralVoucher',
      'LendERC20/SignUnlockCollateralVoucher',
      'LendERC20/RedeemSeizeCollateralVoucher',
      'LendERC20/SettleSeizeCollateral',
      'LendERC20/CollectSeizeCollateral',
      'LendERC20/RedeemUnlockCollateralVoucher',
      'LendERC20/SettleUnlockCollateral',
      'LendERC20/CollectUnlockCollateral',
    ],
  },
  {
    title: 'FIL lent, EVM',
    events: [
      'CreateBorrowRequest',
      'AcceptOffer',
      'UnlockCollateral',
      'SeizeCollateral',
      'UnlockRefundableCollateral',
      'CancelBorrowRequest',
    ],
  },
  {
    title: 'FIL lent, Filecoin',
    events: [
      'LendFIL/CreatePaymentChannel',
      'LendFIL/SignWithdrawVoucher',
      'LendFIL/RedeemWithdrawVoucher',
      'LendFIL/SettleWithdraw',
      'LendFIL/CollectWithdraw',
      'LendFIL/PaybackPaymentChannel',
      'LendFIL/SignPaybackVoucher',
      'LendFIL/RedeemPaybackVoucher',
      'LendFIL/SettlePayback',
      'LendFIL/CollectPayback',
    ],
  },
] as const

/** Whether the record's hash is a voucher itself, which is on no chain. */
export function isSigning(event: string): boolean {
  return /\/Sign\w+Voucher$/.test(event)
}

/** Names the asset that a market lends and its collateral. */
export function marketWords(loanType: string): string {
  return loanType === 'ERC20FIL' ? 'tokens against FIL' : 'FIL against tokens'
}
