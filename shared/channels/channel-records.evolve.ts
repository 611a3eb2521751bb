import type { LoanType } from '../events/chain-event.ts'
import { CHANNEL_RECORDS } from '../events/record-events.ts'
import { useOf, vouchersFor, type ChannelRole, type VoucherUse } from './voucher-use.ts'
import type { LoanFacts } from '../loans/loan-facts.evolve.ts'
import type { Channel, KnownVoucher, Redemption } from './channel.evolve.ts'

/** One history record of a linked channel, without its id and times. */
export interface ChannelRecord {
  /** Identity within the network: the message's key, or the voucher's, however it arrived. */
  naturalKey: string
  txHash: string
  event: string
  loanType: LoanType
  loanId: string
}

/** The loan that a channel belongs to, and its role there. */
export interface ChannelLink {
  loanType: LoanType
  loanId: string
  role: ChannelRole
}

export { vouchersFor } from './voucher-use.ts'

/** The highest nonce overrules the others on its lane. Keys break ties, so the order of arrival does not matter. */
export function latestVoucher(
  use: VoucherUse,
  role: ChannelRole,
  channel: Channel,
  loan: LoanFacts,
): KnownVoucher | undefined {
  return vouchersFor(use, role, channel, loan).reduce<KnownVoucher | undefined>(
    (latest, voucher) => (latest === undefined || isLater(voucher, latest) ? voucher : latest),
    undefined,
  )
}

function isLater({ facts: a }: KnownVoucher, { facts: b }: KnownVoucher): boolean {
  return a.nonce === b.nonce ? a.key > b.key : BigInt(a.nonce) > BigInt(b.nonce)
}

/** The use of the last useful voucher among the first `count` redemptions; null if there is none. */
export function lastUse(
  role: ChannelRole,
  redemptions: readonly Redemption[],
  count: number,
): VoucherUse | null {
  const last = redemptions.slice(0, count).findLast(({ signedBy }) => useOf(role, signedBy) !== null)
  return last === undefined ? null : useOf(role, last.signedBy)
}

interface RoleNames {
  create: string
  sign: Partial<Record<VoucherUse, string>>
  redeem: Partial<Record<VoucherUse, string>>
  settle: Partial<Record<VoucherUse, string>>
  collect: Partial<Record<VoucherUse, string>>
}

/** The records of a linked channel, in the order shown when all become visible at once. */
export function recordsOf(channel: Channel, link: ChannelLink, loan: LoanFacts): ChannelRecord[] {
  const names: RoleNames = CHANNEL_RECORDS[link.role]
  const { loanType, loanId } = link
  const record = (naturalKey: string, txHash: string, event: string | undefined): ChannelRecord[] =>
    event === undefined ? [] : [{ naturalKey, txHash, event, loanType, loanId }]
  const signed = (['seize', 'unlock', 'pay'] as const).flatMap((use) =>
    vouchersFor(use, link.role, channel, loan).flatMap(({ facts, signedBy }) =>
      record(
        `sign/${channel.robust}/${facts.key}/${signedBy}`,
        facts.text ?? `blake2b-256:${facts.key}`,
        names.sign[use],
      ),
    ),
  )
  const redeemed = (from: number, to?: number): ChannelRecord[] =>
    channel.redemptions.slice(from, to).flatMap(({ key, cid, signedBy }) => {
      const use = useOf(link.role, signedBy)
      return use === null ? [] : record(key, cid, names.redeem[use])
    })
  // A settle without an earlier redeem returns the collateral to the borrower.
  const useAfter = (count: number): VoucherUse =>
    lastUse(link.role, channel.redemptions, count) ?? (link.role === 'collateral' ? 'unlock' : 'pay')
  const { settlement, collection } = channel
  const settledAfter = settlement?.after ?? channel.redemptions.length
  return [
    ...record(channel.key, channel.cid, names.create),
    ...signed,
    ...redeemed(0, settledAfter),
    ...(settlement ? record(settlement.key, settlement.cid, names.settle[useAfter(settledAfter)]) : []),
    ...redeemed(settledAfter),
    ...(collection ? record(collection.key, collection.cid, names.collect[useAfter(collection.after)]) : []),
  ]
}
