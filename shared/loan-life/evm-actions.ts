import type { Actor, LoanLife } from './life.ts'
import { isPublic, knowsSecret } from './secrets.ts'
import { ALWAYS, type Window } from './times.ts'

/** (pure) The calls that a loan's contract takes from its parties. */

export const EVM_ACTIONS = [
  'approveRequest',
  'withdraw',
  'payback',
  'acceptRepayment',
  'refundPayback',
  'cancelLoan',
  'acceptOffer',
  'unlockCollateral',
  'seizeCollateral',
  'cancelBorrowRequest',
] as const

export interface EvmOffer {
  action: (typeof EVM_ACTIONS)[number]
  actor: Actor
  /** Unix seconds of the block. */
  window: Window
}

export function evmOffers(life: LoanLife): EvmOffer[] {
  return life.loanType === 'ERC20FIL' ? erc20LoanOffers(life) : collateralLockOffers(life)
}

/**
 * `acceptRepayment` is offered for a repaid loan alone. The contract asks for no state, but in any other it would pay
 * with the tokens of other loans. An approval has arguments, which the channel and its voucher give.
 */
function erc20LoanOffers(life: LoanLife): EvmOffer[] {
  const { contractState, loanExpirationS, acceptExpirationS } = life
  const cancelLoan = own(life, 'cancelLoan', 'lender', ALWAYS)
  switch (contractState) {
    case '0':
      return life.state === '0.5' ? [offer('approveRequest', 'lender', ALWAYS), ...cancelLoan] : cancelLoan
    case '1':
      return [...own(life, 'withdraw', 'borrower', until(loanExpirationS)), ...cancelLoan]
    case '2':
      return [offer('payback', 'borrower', until(loanExpirationS))]
    case '3':
      return [
        ...own(life, 'acceptRepayment', 'lender', until(acceptExpirationS)),
        offer('refundPayback', 'borrower', after(acceptExpirationS)),
      ]
    default:
      return []
  }
}

function collateralLockOffers(life: LoanLife): EvmOffer[] {
  const { contractState, secretHashA1, secretHashB1, loanExpirationS } = life
  const cancelRequest = own(life, 'cancelBorrowRequest', 'borrower', ALWAYS)
  switch (contractState) {
    case '0':
      return life.state === '0.5'
        ? [offer('acceptOffer', 'borrower', ALWAYS), ...cancelRequest]
        : cancelRequest
    case '1':
      return [
        ...(isPublic(life, secretHashB1) ? [offer('unlockCollateral', 'borrower', ALWAYS)] : []),
        ...(isPublic(life, secretHashA1) ? [offer('seizeCollateral', 'lender', after(loanExpirationS))] : []),
      ]
    default:
      return []
  }
}

function offer(action: EvmOffer['action'], actor: Actor, window: Window): EvmOffer {
  return { action, actor, window }
}

/** An offer of a call with the actor's own secret. */
function own(life: LoanLife, action: EvmOffer['action'], actor: Actor, window: Window): EvmOffer[] {
  const hash = actor === 'borrower' ? life.secretHashA1 : life.secretHashB1
  return hash === null || knowsSecret(life, actor, hash) ? [offer(action, actor, window)] : []
}

function until(seconds: bigint | null): Window {
  return { from: null, until: seconds }
}

/** The contracts ask for a later block time. */
function after(seconds: bigint | null): Window {
  return { from: seconds === null ? null : seconds + 1n, until: null }
}
