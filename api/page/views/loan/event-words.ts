/** (pure) The events of the history in words. */

export interface EventWords {
  title: string
  by: 'borrower' | 'lender' | null
  what: string
}

const WORDS: Record<string, readonly [title: string, by: 'borrower' | 'lender' | null, what: string]> = {
  CreateLoanOffer: ['Loan offered', 'lender', 'The lender paid the principal into the contract.'],
  ApproveRequest: [
    'Borrower approved',
    'lender',
    'The contract names the borrower and the channel with the collateral.',
  ],
  Withdraw: ['Principal withdrawn', 'borrower', 'The borrower took the principal and showed secret A1.'],
  Payback: ['Paid back', 'borrower', 'The borrower paid principal and interest into the contract.'],
  AcceptRepayment: ['Payback accepted', 'lender', 'The lender took the payback and showed secret B1.'],
  RefundPayback: [
    'Payback refunded',
    'borrower',
    'The borrower took the payback out again: it was not accepted in time.',
  ],
  CancelLoan: ['Offer cancelled', 'lender', 'The lender took the principal back and showed secret B1.'],
  CreateBorrowRequest: ['Loan requested', 'borrower', 'The borrower locked tokens as collateral.'],
  AcceptOffer: [
    'Lender accepted',
    'borrower',
    'The contract names the lender and the channel with the principal.',
  ],
  UnlockCollateral: ['Collateral unlocked', 'borrower', 'The borrower took the collateral with secret B1.'],
  SeizeCollateral: [
    'Collateral seized',
    'lender',
    'The lender took what the debt was worth, with secret A1.',
  ],
  UnlockRefundableCollateral: [
    'Rest returned',
    'borrower',
    'The rest of the seized collateral went back to the borrower.',
  ],
  CancelBorrowRequest: [
    'Request cancelled',
    'borrower',
    'The borrower took the collateral back and showed secret A1.',
  ],
  'LendERC20/LockCollateral': [
    'Collateral locked',
    'borrower',
    'The borrower made the channel that holds the collateral.',
  ],
  'LendERC20/SignCollateralVoucher': [
    'Seize voucher signed',
    'borrower',
    'With it and A1 the lender can take the collateral.',
  ],
  'LendERC20/SignUnlockCollateralVoucher': [
    'Unlock voucher signed',
    'lender',
    'With it and B1 the borrower gets the collateral back.',
  ],
  'LendERC20/RedeemSeizeCollateralVoucher': [
    'Seize voucher redeemed',
    'lender',
    'The lender claimed the collateral.',
  ],
  'LendERC20/SettleSeizeCollateral': [
    'Channel closing',
    null,
    'A party began to close the channel; the collateral goes to the lender.',
  ],
  'LendERC20/CollectSeizeCollateral': ['Paid out to the lender', null, 'The lender has the collateral.'],
  'LendERC20/RedeemUnlockCollateralVoucher': [
    'Unlock voucher redeemed',
    'borrower',
    'The borrower claimed the collateral.',
  ],
  'LendERC20/SettleUnlockCollateral': [
    'Channel closing',
    null,
    'A party began to close the channel; the collateral goes to the borrower.',
  ],
  'LendERC20/CollectUnlockCollateral': ['Paid out to the borrower', null, 'The borrower has the collateral.'],
  'LendFIL/CreatePaymentChannel': [
    'Principal funded',
    'lender',
    'The lender made the channel that holds the principal.',
  ],
  'LendFIL/SignWithdrawVoucher': [
    'Withdraw voucher signed',
    'lender',
    'With it and A1 the borrower can take the principal.',
  ],
  'LendFIL/RedeemWithdrawVoucher': [
    'Withdraw voucher redeemed',
    'borrower',
    'The borrower claimed the principal and showed secret A1.',
  ],
  'LendFIL/SettleWithdraw': [
    'Principal channel closing',
    null,
    'A party began to close the channel of the principal.',
  ],
  'LendFIL/CollectWithdraw': ['Principal paid out', null, 'The channel of the principal was paid out.'],
  'LendFIL/PaybackPaymentChannel': [
    'Payback funded',
    'borrower',
    'The borrower made the channel that holds the payback.',
  ],
  'LendFIL/SignPaybackVoucher': [
    'Payback voucher signed',
    'borrower',
    'With it and B1 the lender can take the payback.',
  ],
  'LendFIL/RedeemPaybackVoucher': [
    'Payback voucher redeemed',
    'lender',
    'The lender claimed the payback and showed secret B1.',
  ],
  'LendFIL/SettlePayback': [
    'Payback channel closing',
    null,
    'A party began to close the channel of the payback.',
  ],
  'LendFIL/CollectPayback': ['Payback paid out', null, 'The channel of the payback was paid out.'],
}

/** An event that the page does not know yet is shown by its name. */
export function eventWords(event: string): EventWords {
  const known = Object.hasOwn(WORDS, event) ? WORDS[event] : undefined
  if (known === undefined) return { title: event, by: null, what: '' }
  const [title, by, what] = known
  return { title, by, what }
}

/** A signature is made off-chain: its record has a voucher where others have a transaction. */
export function isOffChain(event: string): boolean {
  return event.includes('/Sign')
}
