import type { ChannelRole, Choices, FilecoinHalf, VoucherRole } from './filecoin-half.ts'

export type Party = 'lender' | 'borrower'

/** One action on Filecoin for a loan, and its actor. Its name is unique within the loan. */
export type Step = { name: string; channel: ChannelRole; by: Party } & (
  | { do: 'create' | 'fund' | 'settle' | 'collect' | 'early-collect' }
  | { do: 'sign' | 'redeem' | 'wrong-secret' | 'stale-voucher'; voucher: VoucherRole }
)

/** The party whose funds a channel holds; it pays the other party. */
export const FUNDER: Record<ChannelRole, Party> = {
  collateral: 'borrower',
  principal: 'lender',
  payback: 'borrower',
}
/** The party that signs a voucher; the other party redeems it. */
export const SIGNER: Record<VoucherRole, Party> = {
  seize: 'borrower',
  unlock: 'lender',
  withdraw: 'lender',
  payback: 'borrower',
}

export function otherParty(party: Party): Party {
  return party === 'lender' ? 'borrower' : 'lender'
}

/** The facts of the EVM half that a step depends on. */
export interface Standing {
  market: 'erc20Loans' | 'erc20CollateralLock'
  plan: string
  /** The contract's state number. */
  state: number
  /** The contract needs no further call. */
  isDone: boolean
}

/**
 * Returns the Filecoin steps for a loan in this state, in order from the start. The contract's next call waits until
 * all of them are done.
 */
export function stepsFor(standing: Standing, half: FilecoinHalf): Step[] {
  return standing.market === 'erc20Loans' ? lendSteps(standing, half) : borrowSteps(standing, half)
}

function lendSteps({ plan, state, isDone }: Standing, half: FilecoinHalf): Step[] {
  const { choices } = half
  const channel = 'collateral'
  const agreed = plan !== 'leaveOpen' && plan !== 'cancel'
  const lock = [...open(channel, choices), sign(channel, 'seize')]
  const locked = agreed ? lock : lock.filter((step) => isReached(step, choices))
  const isOpen = half.acts[`create ${channel}`] !== undefined
  if (state === 0) return locked
  if (!isOpen) return []
  const signed = [...lock, sign(channel, 'unlock')]
  switch (state) {
    case 1:
    case 3:
      return signed
    case 2:
      return isDone ? [...signed, ...redeemed(channel, 'seize', choices)] : signed
    case 4:
      return [...signed, ...redeemed(channel, 'seize', choices)]
    case 5:
      return [...signed, ...redeemed(channel, 'unlock', choices)]
    default: {
      const wasAgreed = half.vouchers.unlock !== undefined
      if (wasAgreed && choices.unlockAfterCancel) return [...signed, ...redeemed(channel, 'unlock', choices)]
      return [...(wasAgreed ? signed : locked), ...closed(channel, FUNDER[channel], choices)]
    }
  }
}

function borrowSteps({ plan, state }: Standing, half: FilecoinHalf): Step[] {
  const { choices } = half
  const agreed = plan !== 'leaveOpen' && plan !== 'cancel'
  const principal = agreed || choices.beforeAgreement !== 'nothing' ? open('principal', choices) : []
  const isOpen = half.acts['create principal'] !== undefined
  if (state === 0) return principal
  if (!isOpen) return []
  if (state === 4) return [...principal, ...closed('principal', 'lender', choices)]
  const lent = [...principal, sign('principal', 'withdraw'), ...redeemed('principal', 'withdraw', choices)]
  const payback = open('payback', choices)
  if (plan === 'seize' || state === 2) {
    if (!choices.paybackInVain) return lent
    return state === 1
      ? [...lent, ...payback]
      : [...lent, ...payback, ...closed('payback', 'borrower', choices)]
  }
  const [mistake, redeem, ...end] = withMistake(redeemed('payback', 'payback', choices))
  const repaid = [...lent, ...payback, sign('payback', 'payback'), ...mistake, redeem]
  return state === 1 ? repaid : [...repaid, ...end]
}

/** Separates the steps before the redemption, where a mistake may stand. */
function withMistake(steps: Step[]): [Step[], Step, ...Step[]] {
  const index = steps.findIndex((step) => step.do === 'redeem')
  const redeem = steps[index]
  if (redeem === undefined) throw new Error('nothing is redeemed')
  return [steps.slice(0, index), redeem, ...steps.slice(index + 1)]
}

function isReached(step: Step, { beforeAgreement }: Choices): boolean {
  return beforeAgreement === 'signed' || (beforeAgreement === 'channel' && step.do !== 'sign')
}

function open(channel: ChannelRole, { toppedUp }: Choices): Step[] {
  const by = FUNDER[channel]
  const create: Step = { do: 'create', channel, by, name: `create ${channel}` }
  return toppedUp ? [create, { do: 'fund', channel, by, name: `fund ${channel}` }] : [create]
}

function sign(channel: ChannelRole, voucher: VoucherRole): Step {
  return { do: 'sign', channel, voucher, by: SIGNER[voucher], name: `sign ${voucher}` }
}

function redeemed(channel: ChannelRole, voucher: VoucherRole, choices: Choices): Step[] {
  const by = otherParty(SIGNER[voucher])
  const redeem: Step = { do: 'redeem', channel, voucher, by, name: `redeem ${voucher}` }
  const { mistake } = choices
  const wrongSecret: Step = { do: 'wrong-secret', channel, voucher, by, name: `wrong secret ${voucher}` }
  const stale: Step = { do: 'stale-voucher', channel, voucher: 'seize', by: 'lender', name: 'stale seize' }
  return [
    ...(mistake === 'wrong-secret' ? [wrongSecret] : []),
    redeem,
    ...(mistake === 'stale-voucher' && voucher === 'unlock' ? [stale] : []),
    ...closed(channel, by, choices),
  ]
}

/** Settles and collects the channel, usually by its payee. */
function closed(channel: ChannelRole, by: Party, { mistake, settledByOther }: Choices): Step[] {
  const settler = settledByOther ? otherParty(by) : by
  const early: Step = { do: 'early-collect', channel, by, name: `early collect ${channel}` }
  return [
    { do: 'settle', channel, by: settler, name: `settle ${channel}` },
    ...(mistake === 'early-collect' ? [early] : []),
    { do: 'collect', channel, by, name: `collect ${channel}` },
  ]
}

/** A step that is meant to fail is over once it failed. */
export function isMistake(step: Step): boolean {
  return ['wrong-secret', 'stale-voucher', 'early-collect'].includes(step.do)
}
