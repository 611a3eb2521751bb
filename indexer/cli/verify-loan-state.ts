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
/** A collateral lock's state after a cancelled request. */
const CANCELED = 4
/** Empty bytes, the zero address and the zero hash. */
const NOTHING = new Set(['0x', `0x${'0'.repeat(40)}`, `0x${'0'.repeat(64)}`])

/**
 * Compares a loan of the index with its contract's `fetchLoan` at the same block. Two values are skipped because the
 * contract lacks them: amounts zeroed by a payout, and a cancelled request's secret, which is only emitted. Zero bytes
 * count as equal to a missing value, because the contract stores both alike.
 *
 * `tokenDecimals` is null when the token has none; its amounts are then null in the index. Nulls are not compared in a
 * loan whose beginning was not read.
 */
export function verifyLoanState(
  part: Record<string, string | null>,
  state: LoanState,
  tokenDecimals: number | null,
  isBeginningRead: boolean,
): Difference[] {
  const expected =
    state.role === 'erc20Loans' ? erc20Loan(state, tokenDecimals) : collateralLock(state, tokenDecimals)
  return Object.entries(expected).flatMap(([field, onChain]) => {
    const indexed = part[field] ?? null
    if (indexed === null && !isBeginningRead) return []
    return unlessNothing(indexed) === onChain ? [] : [{ field, indexed, onChain }]
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
  const { secretA1, ...rest } = common(state)
  const isEmittedOnly = state.state === CANCELED && secretA1 === null
  return {
    ...rest,
    ...(isEmittedOnly ? {} : { secretA1 }),
    ...amount('collateralAmount', state.collateralAmount, decimals),
    ...amount('principalAmount', state.principalAmount, FIL_DECIMALS),
    ...amount('interestRate', state.interestRate, PRICE_DECIMALS),
    ...amount('lockPrice', state.lockPrice, PRICE_DECIMALS),
    ...amount('liquidationPrice', state.liquidationPrice, PRICE_DECIMALS),
  }
}

function common(state: LoanState) {
  return {
    borrower: unlessNothing(state.borrower),
    lender: unlessNothing(state.lender),
    filBorrower: unlessNothing(state.filBorrower),
    filLender: unlessNothing(state.filLender),
    secretHashA1: unlessNothing(state.secretHashA1),
    secretHashB1: unlessNothing(state.secretHashB1),
    secretA1: unlessNothing(state.secretA1),
    secretB1: unlessNothing(state.secretB1),
    loanExpiration: unlessZero(state.loanExpiration),
    loanExpirationPeriod: state.loanExpirationPeriod,
    paymentChannelId: unlessNothing(state.paymentChannelId),
    token: state.token,
    state: String(state.state),
  }
}

function amount(field: string, value: string, decimals: number | null): Fields {
  if (value === '0') return {}
  return { [field]: decimals === null ? null : formatUnits(BigInt(value), decimals) }
}

const unlessNothing = (text: string | null): string | null =>
  text === null || NOTHING.has(text) ? null : text
const unlessZero = (number: string): string | null => (number === '0' ? null : number)
