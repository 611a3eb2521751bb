/** (pure) The step of a loan: the protocol's word for each combination of the states of its parts. */

/** Steps of both markets; docs/api.md explains each. */
export const STEPS = [
  'lock collateral',
  'fund',
  'sign voucher',
  'approve request',
  'approve offer',
  'withdraw principal',
  'withdraw',
  'cancel',
  'repay',
  'accept payback',
  'unlock',
  'seize',
  'seized',
  'refunded',
  'closed',
  'cancelled',
] as const
export type Step = (typeof STEPS)[number]

/** States of the parts as the lookups show them; '-' for a part that does not exist. */
export const ERC20_LOAN_STATES = ['0', '0.5', '1', '2', '3', '4', '5', '6'] as const
export const COLLATERAL_STATES = ['-', '0', '1', '2', '3', '4', '5', '6', '7', '8'] as const
export const LOCK_STATES = ['0', '0.5', '1', '2', '3', '4'] as const
export const PAY_STATES = ['-', '0', '1', '2', '3', '4'] as const

type Erc20LoanState = (typeof ERC20_LOAN_STATES)[number]
type CollateralState = (typeof COLLATERAL_STATES)[number]
type PayState = (typeof PAY_STATES)[number]

/** While the offer is open; the contract's half of the loan decides later. */
const OPEN: Record<CollateralState, Step> = {
  '-': 'lock collateral',
  '0': 'sign voucher',
  '1': 'approve request',
  '2': 'approve request',
  // The borrower takes the collateral back.
  '3': 'unlock',
  '4': 'unlock',
  '5': 'lock collateral',
  '6': 'seize',
  '7': 'seize',
  '8': 'lock collateral',
}

const ERC20_STEPS: Record<Erc20LoanState, Record<CollateralState, Step>> = {
  // State 4: the channel was given up, so that the offer waits for another one.
  '0': { ...OPEN, '4': 'lock collateral' },
  '0.5': OPEN,
  // States 4 and 5: the collateral goes back before anything was lent against it.
  '1': { ...all('withdraw principal'), '4': 'cancel', '5': 'cancel', '6': 'seize', '7': 'seize' },
  // State 4: the borrower settles. The lender can redeem the seize voucher until the channel has settled.
  '2': { ...all('repay'), '4': 'seize', '6': 'seize', '7': 'seize', '8': 'seized' },
  '3': all('accept payback'),
  '4': { ...all('seize'), '-': 'refunded', '3': 'unlock', '5': 'refunded', '8': 'seized' },
  '5': { ...all('unlock'), '-': 'closed', '5': 'closed', '6': 'seize', '7': 'seize', '8': 'seized' },
  '6': all('cancelled'),
}

function all(step: Step): Record<CollateralState, Step> {
  return Object.fromEntries(COLLATERAL_STATES.map((state) => [state, step])) as Record<CollateralState, Step>
}

/** The step of a loan that lends tokens. Throws on a state that no part has. */
export function erc20Step(loan: string, collateral: string): Step {
  if (!isOneOf(ERC20_LOAN_STATES, loan)) throw new Error(`there is no erc20Loan state ${loan}`)
  if (!isOneOf(COLLATERAL_STATES, collateral))
    throw new Error(`there is no filCollateral state ${collateral}`)
  return ERC20_STEPS[loan][collateral]
}

/** The step of a loan that lends FIL. Throws on a state that no part has. */
export function filStep(lock: string, principal: string, payback: string): Step {
  if (!isOneOf(LOCK_STATES, lock)) throw new Error(`there is no collateralLock state ${lock}`)
  if (!isOneOf(PAY_STATES, principal)) throw new Error(`there is no filLoan state ${principal}`)
  if (!isOneOf(PAY_STATES, payback)) throw new Error(`there is no filPayback state ${payback}`)
  switch (lock) {
    case '0':
    case '0.5':
      return requestedStep(principal)
    case '1':
      return lockedStep(principal, payback)
    case '2':
      return 'seized'
    case '3':
      return 'closed'
    case '4':
      return 'cancelled'
  }
}

/** A principal that settles before the request is accepted goes back to the lender, or was taken already. */
function requestedStep(principal: PayState): Step {
  return principal === '-' || principal === '3' || principal === '4' ? 'fund' : 'approve offer'
}

/** The payback decides once the borrower has redeemed the principal's voucher. */
function lockedStep(principal: PayState, payback: PayState): Step {
  if (principal === '-') return 'fund'
  if (principal === '0') return 'sign voucher'
  if (principal !== '1') {
    if (payback === '4') return 'unlock'
    if (payback !== '-' && payback !== '0') return 'accept payback'
  }
  return principal === '4' ? 'repay' : 'withdraw'
}

function isOneOf<State extends string>(states: readonly State[], text: string): text is State {
  return (states as readonly string[]).includes(text)
}
