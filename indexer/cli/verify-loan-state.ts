import { formatUnits } from '../../shared/amounts.ts'
import type { LoanState } from '../sources/evm/decode-loan.ts'

/** (pure) One field in which the index and the contract disagree. */
export interface Difference {
  field: string
  indexed: string | null
  onChain: string | null
}

const FIL_DECIMALS = 18
const PRICE_DECIMALS = 18
const ZERO_HEX = /^0x0*$/

/**
 * Compares a loan of the index with what its contract's `fetchLoan` says at the same block. An amount that the
 * contract has set to zero is not compared: the contract zeroes what it pays out, the index keeps what was agreed.
 * Nor can a contract tell an empty text from one that was never given: events can.
 * `tokenDecimals` null: the token has none, its amounts are null in the index.
 */
export function verifyLoanState(
  part: Record<string, string | null>,
  state: LoanState,
  tokenDecimals: number | null,
): Difference[] {
  const expected =
    state.role === 'erc20Loans' ? erc20Loan(state, tokenDecimals) : collateralLock(state, tokenDecimals)
  return Object.entries(expected).flatMap(([field, onChain]) => {
    const indexed = part[field] ?? null
    return indexed === onChain || (indexed === '0x' && onChain === null) ? [] : [{ field, indexed, onChain }]
  })
}

type Fields = Record<string, string | null>

function erc20Loan(state: Extract<LoanState, { role: 'erc20Loans' }>, decimals: number | null): Fields {
  return {
    ...common(state),
    acceptExpiration: unlessZero(state.acceptExpiration),
    ...amount('principalAmount', state.principal, decimals),
    ...amount('interestAmount', state.interest, decimals),
    ...amount('collateralAmount', state.collateral, FIL_DECIMALS),
  }
}

function collateralLock(
  state: Extract<LoanState, { role: 'erc20CollateralLock' }>,
  decimals: number | null,
): Fields {
  return {
    ...common(state),
    ...amount('collateralAmount', state.collateralAmount, decimals),
    ...amount('principalAmount', state.principalAmount, FIL_DECIMALS),
    ...amount('interestRate', state.interestRate, PRICE_DECIMALS),
    ...amount('lockPrice', state.lockPrice, PRICE_DECIMALS),
    ...amount('liquidationPrice', state.liquidationPrice, PRICE_DECIMALS),
  }
}

function common(state: LoanState): Fields {
  return {
    borrower: unlessEmpty(state.borrower),
    lender: unlessEmpty(state.lender),
    filBorrower: unlessNone(state.filBorrower),
    filLender: unlessNone(state.filLender),
    secretHashA1: unlessEmpty(state.secretHashA1),
    secretHashB1: unlessEmpty(state.secretHashB1),
    secretA1: unlessNone(state.secretA1),
    secretB1: unlessNone(state.secretB1),
    loanExpiration: unlessZero(state.loanExpiration),
    loanExpirationPeriod: state.loanExpirationPeriod,
    paymentChannelId: unlessEmpty(state.paymentChannelId),
    token: state.token,
    state: String(state.state),
  }
}

function amount(field: string, value: string, decimals: number | null): Fields {
  if (value === '0') return {}
  return { [field]: decimals === null ? null : formatUnits(BigInt(value), decimals) }
}

const unlessEmpty = (hex: string): string | null => (ZERO_HEX.test(hex) ? null : hex)
const unlessNone = (hex: string): string | null => (hex === '0x' ? null : hex)
const unlessZero = (number: string): string | null => (number === '0' ? null : number)
