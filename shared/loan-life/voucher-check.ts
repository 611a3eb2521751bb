import type { Party, Redemption } from '../channels/channel.ts'
import { lanesOf, refusalOf, type LaneRefusal, type Lanes } from '../channels/lanes.ts'
import type { VoucherFacts } from '../events/filecoin-event.ts'
import type { LinkedChannel } from './life.ts'
import type { Window } from './times.ts'

/** (pure) The rules of `UpdateChannelState` for one voucher. */

/** A voucher on a channel; null if neither known party signed it. */
export interface ChannelVoucher {
  facts: VoucherFacts
  signedBy: Party | null
}

/** Reasons for which the actor will never take the voucher. */
export type Refusal = LaneRefusal | 'negative-amount' | 'channel-settled' | 'calls-another-actor'

export interface VoucherCheck extends ChannelVoucher {
  redemption: { txHash: string; epoch: number } | null
  /** Null if it is redeemed, or if nothing but time and secret stands against it. */
  refusal: Refusal | null
  /** Epochs in which its time locks and the channel's end allow a redemption. */
  window: Window
}

/** All known vouchers of a channel: those that can count, and those redeemed in the name of nobody known. */
export function checkVouchers(linked: LinkedChannel): VoucherCheck[] {
  const { vouchers, redemptions } = linked.channel
  const lanes = lanesOf(linked.channel)
  const redeemed = new Map(redemptions.map((redemption) => [nameOf(redemption), redemption]))
  const known = new Map<string, ChannelVoucher>()
  for (const voucher of [...vouchers, ...redemptions]) known.set(nameOf(voucher), voucher)
  return [...known].map(([name, voucher]) => check(voucher, linked, lanes, redeemed.get(name)))
}

function nameOf({ facts, signedBy }: ChannelVoucher): string {
  return `${facts.key}/${signedBy ?? ''}`
}

function check(
  { facts, signedBy }: ChannelVoucher,
  { channel }: LinkedChannel,
  lanes: Lanes,
  redemption: Redemption | undefined,
): VoucherCheck {
  const { settlement, collection, deposits } = channel
  const timeLockMin = BigInt(facts.timeLockMin)
  const timeLockMax = facts.timeLockMax === '0' ? null : BigInt(facts.timeLockMax)
  // The channel takes vouchers before it has settled, and none in that epoch.
  const lastEpoch = settlement === null ? null : BigInt(settlement.settlingAtEpoch) - 1n
  const refuse = (): Refusal | null => {
    if (redemption !== undefined) return null
    if (collection !== null) return 'channel-settled'
    if (BigInt(facts.amount) < 0n) return 'negative-amount'
    // Only the other actor knows whether it would take the call.
    if (facts.hasExtra) return 'calls-another-actor'
    return refusalOf(lanes, facts, BigInt(deposits))
  }
  return {
    facts,
    signedBy,
    redemption: redemption === undefined ? null : { txHash: redemption.cid, epoch: redemption.epoch },
    refusal: refuse(),
    window: { from: timeLockMin > 0n ? timeLockMin : null, until: earlier(timeLockMax, lastEpoch) },
  }
}

function earlier(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
