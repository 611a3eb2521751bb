import type { Party } from '../channels/channel.ts'
import { useOf, vouchersFor, type ChannelRole, type VoucherUse } from '../channels/voucher-use.ts'
import {
  actorOf,
  clockOf,
  isGivenUp,
  otherParty,
  shownChannel,
  type Actor,
  type LinkedChannel,
  type LoanLife,
} from './life.ts'
import { canReveal } from './secrets.ts'
import { ALWAYS, isOver, type Window } from './times.ts'
import { checkVouchers } from './voucher-check.ts'

/** (pure) The messages that a loan's channels take from their parties, and the vouchers that are still unsigned. */

export const FILECOIN_ACTIONS = [
  'createCollateralChannel',
  'createPrincipalChannel',
  'createPaybackChannel',
  'signSeizeVoucher',
  'signUnlockVoucher',
  'signWithdrawVoucher',
  'signPaybackVoucher',
  'redeemSeizeVoucher',
  'redeemUnlockVoucher',
  'redeemWithdrawVoucher',
  'redeemPaybackVoucher',
  'settleCollateral',
  'settlePrincipal',
  'settlePayback',
  'collectCollateral',
  'collectPrincipal',
  'collectPayback',
] as const
type FilecoinAction = (typeof FILECOIN_ACTIONS)[number]

export interface FilecoinOffer {
  action: FilecoinAction
  actor: Actor
  /** Null for a channel that does not exist yet. */
  channel: LinkedChannel | null
  /** Epochs of the tipset that has the message. */
  window: Window
}

const SETTLE = {
  collateral: 'settleCollateral',
  principal: 'settlePrincipal',
  payback: 'settlePayback',
} as const
const COLLECT = {
  collateral: 'collectCollateral',
  principal: 'collectPrincipal',
  payback: 'collectPayback',
} as const
const CREATE = {
  collateral: 'createCollateralChannel',
  principal: 'createPrincipalChannel',
  payback: 'createPaybackChannel',
} as const
const VOUCHERS: Record<ChannelRole, { use: VoucherUse; sign: FilecoinAction; redeem: FilecoinAction }[]> = {
  collateral: [
    { use: 'seize', sign: 'signSeizeVoucher', redeem: 'redeemSeizeVoucher' },
    { use: 'unlock', sign: 'signUnlockVoucher', redeem: 'redeemUnlockVoucher' },
  ],
  principal: [{ use: 'pay', sign: 'signWithdrawVoucher', redeem: 'redeemWithdrawVoucher' }],
  payback: [{ use: 'pay', sign: 'signPaybackVoucher', redeem: 'redeemPaybackVoucher' }],
}
/** The contract's states in which the protocol has a use for a voucher that is not signed yet. */
const SIGNED_IN: Record<VoucherUse, { collateral: string[]; principal: string[]; payback: string[] }> = {
  seize: { collateral: ['0', '1', '2'], principal: [], payback: [] },
  unlock: { collateral: ['1', '2', '3', '5'], principal: [], payback: [] },
  pay: { collateral: [], principal: ['1'], payback: ['1'] },
}

export function filecoinOffers(life: LoanLife): FilecoinOffer[] {
  const roles: ChannelRole[] = life.loanType === 'ERC20FIL' ? ['collateral'] : ['principal', 'payback']
  return roles.flatMap((role) => {
    const channel = shownChannel(life, role)
    return [
      ...creation(life, role, channel),
      ...(channel === undefined
        ? []
        : [...signings(life, channel), ...redemptions(life, channel), ...endings(channel)]),
    ]
  })
}

/** A channel that was given up leaves room for another one. */
function creation(life: LoanLife, role: ChannelRole, channel: LinkedChannel | undefined): FilecoinOffer[] {
  if (channel !== undefined && !isGivenUp(channel.channel)) return []
  return isAwaited(life, role, channel)
    ? [{ action: CREATE[role], actor: actorOf(role, 'from'), channel: null, window: ALWAYS }]
    : []
}

function isAwaited(life: LoanLife, role: ChannelRole, channel: LinkedChannel | undefined): boolean {
  switch (role) {
    case 'collateral':
      return life.contractState === '0'
    case 'principal':
      // A contract that names a channel waits for that one.
      return life.contractState === '0' || (life.contractState === '1' && channel === undefined)
    case 'payback': {
      const principal = shownChannel(life, 'principal')
      return life.contractState === '1' && principal !== undefined && principal.channel.redemptions.length > 0
    }
  }
}

function signings(life: LoanLife, linked: LinkedChannel): FilecoinOffer[] {
  const { role, channel } = linked
  if (channel.collection !== null || isGivenUp(channel)) return []
  return VOUCHERS[role].flatMap(({ use, sign }) => {
    const isWanted = SIGNED_IN[use][role].includes(life.contractState)
    if (!isWanted || vouchersFor(use, role, channel, life).length > 0) return []
    const signer: Party = use === 'unlock' ? 'recipient' : 'from'
    const settlingAt = channel.settlement?.settlingAtEpoch
    // A voucher is of use until its channel has settled.
    const until = settlingAt === undefined ? null : BigInt(settlingAt) - 1n
    return [{ action: sign, actor: actorOf(role, signer), channel: linked, window: { from: null, until } }]
  })
}

/** One offer for each use: the redeemable voucher with the highest nonce. */
function redemptions(life: LoanLife, linked: LinkedChannel): FilecoinOffer[] {
  const { role } = linked
  const clock = clockOf(life, linked.network)
  const open = checkVouchers(linked).filter(
    ({ facts, signedBy, redemption, refusal, window }) =>
      redemption === null &&
      refusal === null &&
      !isOver(window, linked.network, clock) &&
      signedBy !== null &&
      canReveal(life, role, signedBy, facts.secretHash),
  )
  return VOUCHERS[role].flatMap(({ use, redeem }) => {
    const ofUse = open.filter(({ signedBy }) => useOf(role, signedBy) === use)
    const [first, ...others] = ofUse
    if (first === undefined) return []
    const best = others.reduce(
      (latest, other) => (BigInt(other.facts.nonce) > BigInt(latest.facts.nonce) ? other : latest),
      first,
    )
    const redeemer = otherParty(use === 'unlock' ? 'recipient' : 'from')
    return [{ action: redeem, actor: actorOf(role, redeemer), channel: linked, window: best.window }]
  })
}

/** Either party may settle a channel at any time, and collect it once it has settled. */
function endings(linked: LinkedChannel): FilecoinOffer[] {
  const { role, channel } = linked
  const { settlement, collection } = channel
  if (collection !== null) return []
  const [action, window] =
    settlement === null
      ? [SETTLE[role], ALWAYS]
      : [COLLECT[role], { from: BigInt(settlement.settlingAtEpoch), until: null }]
  return (['recipient', 'from'] as const).map((party) => ({
    action,
    actor: actorOf(role, party),
    channel: linked,
    window,
  }))
}
