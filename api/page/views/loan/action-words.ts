/** (pure) The actions of `/next` in words. */
import type { LoanAction } from '../../../../client/generated/types.gen.ts'

export type ActionName = LoanAction['action']

/** `note` completes the title: the consequence that a party should know before it acts. */
export const ACTION_WORDS: Record<ActionName, { title: string; note: string }> = {
  approveRequest: {
    title: 'Approve the borrower',
    note: 'Names the borrower and the collateral channel in the contract.',
  },
  cancelLoan: { title: 'Cancel the offer', note: 'Returns the principal to the lender and shows secret B1.' },
  withdraw: {
    title: 'Withdraw the principal',
    note: 'Shows secret A1, with which the lender can seize later.',
  },
  payback: { title: 'Pay back', note: 'Pays principal and interest into the contract.' },
  acceptRepayment: { title: 'Accept the payback', note: 'Shows secret B1, which unlocks the collateral.' },
  refundPayback: {
    title: 'Take the payback back',
    note: 'Possible once the lender let the time to accept pass.',
  },
  acceptOffer: {
    title: 'Accept the lender',
    note: 'Names the lender and the principal channel in the contract.',
  },
  unlockCollateral: { title: 'Unlock the collateral', note: 'Uses secret B1, which the lender has shown.' },
  seizeCollateral: {
    title: 'Seize the collateral',
    note: 'Takes what the debt is worth, once the loan has expired.',
  },
  cancelBorrowRequest: { title: 'Cancel the request', note: 'Returns the collateral to the borrower.' },
  createCollateralChannel: {
    title: 'Make the collateral channel',
    note: 'A payment channel to the lender that holds the FIL.',
  },
  createPrincipalChannel: {
    title: 'Make the principal channel',
    note: 'A payment channel to the borrower that holds the FIL.',
  },
  createPaybackChannel: {
    title: 'Make the payback channel',
    note: 'A payment channel to the lender for principal and interest.',
  },
  signSeizeVoucher: {
    title: 'Sign the seize voucher',
    note: 'Lets the lender take the collateral once A1 is shown.',
  },
  signUnlockVoucher: {
    title: 'Sign the unlock voucher',
    note: 'Gives the collateral back once B1 is shown.',
  },
  signWithdrawVoucher: {
    title: 'Sign the withdraw voucher',
    note: 'Lets the borrower take the principal, who shows A1 by it.',
  },
  signPaybackVoucher: {
    title: 'Sign the payback voucher',
    note: 'Lets the lender take the payback, who shows B1 by it.',
  },
  redeemSeizeVoucher: { title: 'Redeem the seize voucher', note: 'Claims the collateral for the lender.' },
  redeemUnlockVoucher: {
    title: 'Redeem the unlock voucher',
    note: 'Claims the collateral back for the borrower.',
  },
  redeemWithdrawVoucher: {
    title: 'Redeem the withdraw voucher',
    note: 'Claims the principal and shows secret A1.',
  },
  redeemPaybackVoucher: {
    title: 'Redeem the payback voucher',
    note: 'Claims the payback and shows secret B1.',
  },
  settleCollateral: {
    title: 'Close the collateral channel',
    note: 'Starts the settling time; vouchers count until it ends.',
  },
  settlePrincipal: {
    title: 'Close the principal channel',
    note: 'Starts the settling time; vouchers count until it ends.',
  },
  settlePayback: {
    title: 'Close the payback channel',
    note: 'Starts the settling time; vouchers count until it ends.',
  },
  collectCollateral: { title: 'Pay out the collateral channel', note: 'Sends each party its share.' },
  collectPrincipal: { title: 'Pay out the principal channel', note: 'Sends each party its share.' },
  collectPayback: { title: 'Pay out the payback channel', note: 'Sends each party its share.' },
}

/** The actions that bring each step forward; every other action is possible, but not the plan. */
const SERVES: Record<string, readonly ActionName[]> = {
  'lock collateral': ['createCollateralChannel'],
  fund: ['createPrincipalChannel'],
  'sign voucher': ['signSeizeVoucher', 'signWithdrawVoucher'],
  'approve request': ['approveRequest'],
  'approve offer': ['acceptOffer'],
  'withdraw principal': ['withdraw', 'signUnlockVoucher'],
  withdraw: ['redeemWithdrawVoucher', 'settlePrincipal', 'collectPrincipal'],
  cancel: ['cancelLoan', 'collectCollateral'],
  repay: ['payback', 'createPaybackChannel', 'signPaybackVoucher', 'redeemSeizeVoucher', 'seizeCollateral'],
  'accept payback': [
    'acceptRepayment',
    'refundPayback',
    'redeemPaybackVoucher',
    'settlePayback',
    'collectPayback',
  ],
  unlock: ['redeemUnlockVoucher', 'settleCollateral', 'collectCollateral', 'unlockCollateral'],
  seize: ['redeemSeizeVoucher', 'settleCollateral', 'collectCollateral'],
}
/** Once a loan has ended its channels still hold funds that want to be paid out. */
const AFTERWARDS: readonly ActionName[] = ['collectCollateral', 'collectPrincipal', 'collectPayback']

export function servesStep(step: string, action: ActionName): boolean {
  return (SERVES[step] ?? AFTERWARDS).includes(action)
}
