import type { EvmLoanEvent, KINDS_OF_ROLE } from '../../../shared/events/chain-event.ts'
import { FIL_DECIMALS, inUnits } from './erc20-loan.evolve.ts'

/** Events of the market that lends FIL against ERC20 collateral. */
export type CollateralLockEvent = Extract<
  EvmLoanEvent,
  { kind: (typeof KINDS_OF_ROLE)['erc20CollateralLock'][number] }
>

/** The `collateralLock` part of a lookup, without id and times; fields in response order. */
export interface CollateralLockPart {
  contractLoanId: string
  paymentChannelId: string | null
  borrower: string | null
  lender: string | null
  filBorrower: string | null
  filLender: string | null
  secretHashA1: string | null
  secretHashB1: string | null
  secretA1: string | null
  secretB1: string | null
  /** Unix seconds; the period is in seconds. */
  loanExpiration: string | null
  loanExpirationPeriod: string | null
  /** Whole units of the token. */
  collateralAmount: string | null
  /** Whole FIL. */
  principalAmount: string | null
  /** Rates and prices have 18 decimals. */
  interestRate: string | null
  lockPrice: string | null
  liquidationPrice: string | null
  /** The contract's state: 0 Funded … 4 Canceled. */
  state: string
  blockchain: string
  networkId: string
  collateralLockContractAddress: string
  token: string | null
}

const PRICE_DECIMALS = 18

export function initialCollateralLock(
  event: CollateralLockEvent,
  chain: { blockchain: string; networkId: string },
): CollateralLockPart {
  return {
    contractLoanId: event.contractLoanId,
    paymentChannelId: null,
    borrower: null,
    lender: null,
    filBorrower: null,
    filLender: null,
    secretHashA1: null,
    secretHashB1: null,
    secretA1: null,
    secretB1: null,
    loanExpiration: null,
    loanExpirationPeriod: null,
    collateralAmount: null,
    principalAmount: null,
    interestRate: null,
    lockPrice: null,
    liquidationPrice: null,
    state: '0',
    blockchain: chain.blockchain,
    networkId: chain.networkId,
    collateralLockContractAddress: event.contract,
    token: null,
  }
}

/** Applies one more event of this lock, in chain order. */
export function evolveCollateralLock(
  lock: CollateralLockPart,
  event: CollateralLockEvent,
): CollateralLockPart {
  switch (event.kind) {
    case 'CreateBorrowRequest':
      return {
        ...lock,
        borrower: event.args.borrower,
        filBorrower: event.terms.values.filBorrower,
        secretHashA1: event.terms.values.secretHashA1,
        loanExpirationPeriod: event.terms.values.loanExpirationPeriod,
        collateralAmount: inUnits(event.args.collateralAmount, event.tokenDecimals),
        principalAmount: inUnits(event.terms.values.principalAmount, FIL_DECIMALS),
        interestRate: inUnits(event.terms.values.interestRate, PRICE_DECIMALS),
        token: event.args.token,
        state: '0',
      }
    case 'AcceptOffer':
      return {
        ...lock,
        lender: event.args.lender,
        filLender: event.args.filLender,
        secretHashB1: event.args.secretHashB1,
        paymentChannelId: event.args.paymentChannelId,
        principalAmount: inUnits(event.args.principalAmount, FIL_DECIMALS),
        loanExpiration: event.terms.values.loanExpiration,
        lockPrice: inUnits(event.terms.values.lockPrice, PRICE_DECIMALS),
        state: '1',
      }
    case 'SeizeCollateral':
      return {
        ...lock,
        secretA1: event.terms.values.secretA1,
        liquidationPrice: inUnits(event.terms.values.liquidationPrice, PRICE_DECIMALS),
        state: '2',
      }
    case 'UnlockRefundableCollateral':
      // The borrower's share of a seizure: SeizeCollateral in the same transaction already set the state.
      return lock
    case 'UnlockCollateral':
      return { ...lock, secretB1: event.terms.values.secretB1, state: '3' }
    case 'CancelBorrowRequest':
      return { ...lock, secretA1: event.args.secretA1, state: '4' }
    default:
      return event satisfies never
  }
}
