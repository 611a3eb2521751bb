import type { EvmLoanEvent, KINDS_OF_ROLE } from '../events/chain-event.ts'
import { COLLATERAL_LOCK, eachField } from '../events/loan-parts.ts'
import { FIL_DECIMALS, inUnits } from './erc20-loan.evolve.ts'

/** Events of the market that lends FIL against ERC20 collateral. */
export type CollateralLockEvent = Extract<
  EvmLoanEvent,
  { kind: (typeof KINDS_OF_ROLE)['erc20CollateralLock'][number] }
>

/** The `collateralLock` part of a lookup, without id and times; unknown values are null. */
export type CollateralLockPart = Record<(typeof COLLATERAL_LOCK)[number], string | null> &
  Record<'contractLoanId' | 'state' | 'blockchain' | 'networkId' | 'collateralLockContractAddress', string>

const PRICE_DECIMALS = 18

export function initialCollateralLock(
  { contractLoanId, contract }: CollateralLockEvent,
  chain: { blockchain: string; networkId: string },
): CollateralLockPart {
  const known = { contractLoanId, state: '0', ...chain, collateralLockContractAddress: contract }
  return { ...eachField(COLLATERAL_LOCK, null), ...known }
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
