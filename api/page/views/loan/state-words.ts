/** (pure) The states of a loan's parts in words; docs/api.md lists them. */
const PAYMENT = {
  '0': 'channel made',
  '1': 'voucher signed',
  '2': 'voucher redeemed',
  '3': 'channel closing',
  '4': 'paid out',
}
const STATES: Record<string, Partial<Record<string, string>>> = {
  erc20Loan: {
    '0': 'offered',
    '0.5': 'collateral voucher known',
    '1': 'approved',
    '2': 'withdrawn',
    '3': 'repaid',
    '4': 'payback refunded',
    '5': 'closed',
    '6': 'cancelled',
  },
  collateralLock: {
    '0': 'requested',
    '0.5': 'principal channel known',
    '1': 'locked',
    '2': 'seized',
    '3': 'closed',
    '4': 'cancelled',
  },
  filCollateral: {
    '0': 'channel made',
    '1': 'seize voucher signed',
    '2': 'unlock voucher signed',
    '3': 'unlock voucher redeemed',
    '4': 'closing, to the borrower',
    '5': 'paid out to the borrower',
    '6': 'seize voucher redeemed',
    '7': 'closing, to the lender',
    '8': 'paid out to the lender',
  },
  filLoan: PAYMENT,
  filPayback: PAYMENT,
}

export function stateWords(part: string, state: string): string {
  return STATES[part]?.[state] ?? `state ${state}`
}
