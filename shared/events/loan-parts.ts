/**
 * Fields of the contract's half of a loan in response order, as the lookups answer it between its id and its times.
 * Times are Unix seconds and periods seconds. Amounts are whole units of the token, or whole FIL; rates and prices have
 * 18 decimals. The state is the contract's.
 */
export const ERC20_LOAN = [
  ...(['contractLoanId', 'borrower', 'lender', 'filBorrower', 'filLender'] as const),
  ...(['secretHashA1', 'secretHashB1', 'secretA1', 'secretB1'] as const),
  ...(['loanExpiration', 'acceptExpiration', 'loanExpirationPeriod'] as const),
  ...(['principalAmount', 'interestAmount', 'collateralAmount', 'paymentChannelId', 'state'] as const),
  ...(['blockchain', 'networkId', 'erc20LoansContract', 'token'] as const),
] as const

export const COLLATERAL_LOCK = [
  ...(['contractLoanId', 'paymentChannelId', 'borrower', 'lender', 'filBorrower', 'filLender'] as const),
  ...(['secretHashA1', 'secretHashB1', 'secretA1', 'secretB1'] as const),
  ...(['loanExpiration', 'loanExpirationPeriod', 'collateralAmount', 'principalAmount'] as const),
  ...(['interestRate', 'lockPrice', 'liquidationPrice', 'state'] as const),
  ...(['blockchain', 'networkId', 'collateralLockContractAddress', 'token'] as const),
] as const

/** An object with the same value in each of these fields, in their order. */
export function eachField<Name extends string, Value>(
  names: readonly Name[],
  value: Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>
}
