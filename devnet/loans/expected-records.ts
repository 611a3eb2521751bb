import { decodeExecReturn } from '../../shared/filecoin/init-actor.ts'
import { formatAddress } from '../../shared/filecoin/address.ts'
import type { Life, Market } from '../evm/loan-life.ts'
import type { ChainView, Outcome } from './chain-view.ts'
import type { ChannelRole, FilecoinHalf, VoucherRole } from './filecoin-half.ts'

/** A record that the history must have (protocol.md, section 4). */
export interface ExpectedRecord {
  event: string
  /** A message's CID, or a voucher in standard base64. */
  txHash: string
  loanType: 'ERC20FIL' | 'FILERC20'
  loanId: string
}

/** A loan in its contract's final state. */
export interface MadeLoan {
  market: Market
  loanId: bigint
  secretHashA1: string
  secretHashB1: string
}

/** The messages of a loan's channel in the chain's branch, in order. */
export interface ChannelStory {
  role: ChannelRole
  /** Robust and ID address. */
  robust: string
  id: string
  half: FilecoinHalf
  life: Life
  loan: MadeLoan
  createCid: string
  /** Robust addresses of other channels for the same role: a reorg let a creation succeed that had failed before. */
  twins: string[]
  /** Excludes the creation. */
  messages: { cid: string; what: string; outcome: Outcome }[]
}

/**
 * Returns the channels of the contracts' loans from the chain's branch. A player's notes only map messages to loans;
 * the branch shows which of them took effect, and in which order.
 */
export function channelStories(
  lives: readonly Life[],
  loans: readonly MadeLoan[],
  view: ChainView,
): ChannelStory[] {
  const byHash = new Map(lives.map((life) => [nameOf(life.market, life.hashes), life]))
  return loans.flatMap((loan) => {
    const life = byHash.get(nameOf(loan.market, { a1: loan.secretHashA1, b1: loan.secretHashB1 }))
    if (life?.half === undefined) return []
    const { half } = life
    const roles: ChannelRole[] = loan.market === 'erc20Loans' ? ['collateral'] : ['principal', 'payback']
    return roles.flatMap((role) => storyOf(role, life, half, loan, view) ?? [])
  })
}

/** A loan is identified by its maker's secret. */
function nameOf(market: Market, { a1, b1 }: { a1: string; b1: string }): string {
  return `${market}/${market === 'erc20Loans' ? b1 : a1}`
}

function storyOf(
  role: ChannelRole,
  life: Life,
  half: FilecoinHalf,
  loan: MadeLoan,
  view: ChainView,
): ChannelStory | undefined {
  const create = half.acts[`create ${role}`]
  const made = [create?.cid, ...(create?.earlier ?? [])].flatMap((cid) => {
    const outcome = cid === undefined ? undefined : view.outcome(cid)
    if (cid === undefined || outcome?.exitCode !== 0) return []
    const { idAddress, robustAddress } = decodeExecReturn(Buffer.from(outcome.returned ?? '', 'base64'))
    return [{ cid, id: formatAddress(idAddress, 't'), robust: formatAddress(robustAddress, 't') }]
  })
  const [newest, ...others] = made
  if (newest === undefined) return undefined
  const { cid: createCid, id, robust } = newest
  const twins = others.map((other) => other.robust)
  const messages = Object.entries(half.acts)
    .filter(([name]) => !name.startsWith('create '))
    .flatMap(([what, { cid, earlier }]) => [...earlier, cid].map((one) => ({ cid: one, what })))
    .flatMap(({ cid, what }) => {
      const outcome = view.outcome(cid)
      const isOurs = outcome?.exitCode === 0 && [id, robust].includes(outcome.to)
      return isOurs ? { cid, what, outcome } : []
    })
    .sort((one, other) => inOrder(one.outcome, other.outcome))
  return { role, robust, id, half, life, loan, createCid, twins, messages }
}

function inOrder(one: Outcome, other: Outcome): number {
  return one.height - other.height || one.position - other.position
}

/** Returns the records that the service must show for a channel. */
export function recordsOf(story: ChannelStory): ExpectedRecord[] {
  const { role, half, loan, createCid, messages, robust } = story
  const loanType = loan.market === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20'
  const loanId = loan.loanId.toString()
  const record = (event: string, txHash: string): ExpectedRecord => ({ event, txHash, loanType, loanId })
  const records = [record(CREATION[role], createCid)]
  const redeemed: VoucherRole[] = []
  for (const { cid, what } of messages) {
    const voucher = redemptionOf(what)
    if (voucher !== undefined) {
      redeemed.push(voucher)
      records.push(record(`${prefix(role)}/Redeem${PURPOSE[voucher]}Voucher`, cid))
    } else if (what === `settle ${role}`) {
      records.push(record(`${prefix(role)}/Settle${PURPOSE[redeemed.at(-1) ?? UNREDEEMED[role]]}`, cid))
    } else if (what === `collect ${role}` || what === `early collect ${role}`) {
      records.push(record(`${prefix(role)}/Collect${PURPOSE[redeemed.at(-1) ?? UNREDEEMED[role]]}`, cid))
    }
  }
  for (const voucher of VOUCHERS_OF[role]) {
    const signed = half.vouchers[voucher]
    const isKnown = half.choices.ways[voucher] !== 'redemption' || redeemed.includes(voucher)
    if (signed?.channel === robust && isKnown)
      records.push(record(`${prefix(role)}/Sign${VOUCHER[voucher]}`, signed.text))
  }
  return records
}

/** Returns the redeemed vouchers in order, including a late one that a reorg moved before its deadline. */
export function redeemedIn({ messages }: ChannelStory): VoucherRole[] {
  return messages.flatMap(({ what }) => redemptionOf(what) ?? [])
}

function redemptionOf(what: string): VoucherRole | undefined {
  const voucher = /^(?:redeem|wrong secret|stale) (.*)$/.exec(what)?.[1]
  return ROLES.find((role) => role === voucher)
}

const ROLES: readonly VoucherRole[] = ['seize', 'unlock', 'withdraw', 'payback']
const VOUCHERS_OF: Record<ChannelRole, readonly VoucherRole[]> = {
  collateral: ['seize', 'unlock'],
  principal: ['withdraw'],
  payback: ['payback'],
}
const CREATION: Record<ChannelRole, string> = {
  collateral: 'LendERC20/LockCollateral',
  principal: 'LendFIL/CreatePaymentChannel',
  payback: 'LendFIL/PaybackPaymentChannel',
}
const VOUCHER: Record<VoucherRole, string> = {
  seize: 'CollateralVoucher',
  unlock: 'UnlockCollateralVoucher',
  withdraw: 'WithdrawVoucher',
  payback: 'PaybackVoucher',
}
const PURPOSE: Record<VoucherRole, string> = {
  seize: 'SeizeCollateral',
  unlock: 'UnlockCollateral',
  withdraw: 'Withdraw',
  payback: 'Payback',
}
/** The purpose shown for a channel that is settled without a redemption. */
const UNREDEEMED: Record<ChannelRole, VoucherRole> = {
  collateral: 'unlock',
  principal: 'withdraw',
  payback: 'payback',
}

function prefix(role: ChannelRole): string {
  return role === 'collateral' ? 'LendERC20' : 'LendFIL'
}
