import type { VoucherFacts } from '../events/filecoin-event.ts'
import { DecodeError } from '../filecoin/decode-error.ts'
import { voucherFromText } from '../filecoin/voucher.ts'
import type { Channel } from './channel.ts'

/** (pure) The channel actor's lanes, as its redemptions leave them. */

interface Lane {
  nonce: bigint
  redeemed: bigint
}

export interface Lanes {
  byNumber: ReadonlyMap<string, Lane>
  /** attoFIL that a collection pays to the recipient. */
  toSend: bigint
}

/** The rule of `UpdateChannelState` that refuses a voucher for its lane. */
export type LaneRefusal = 'stale-nonce' | 'bad-merge' | 'below-zero' | 'exceeds-funds' | 'lane-too-high'

const HIGHEST_LANE = (1n << 63n) - 1n

export function lanesOf({ redemptions }: Pick<Channel, 'redemptions'>): Lanes {
  return redemptions.reduce<Lanes>((lanes, { facts }) => redeemOn(lanes, facts), {
    byNumber: new Map(),
    toSend: 0n,
  })
}

/** Why the actor would refuse the voucher on these lanes with this balance; null if it would not. */
export function refusalOf(lanes: Lanes, facts: VoucherFacts, balance: bigint): LaneRefusal | null {
  if (BigInt(facts.lane) > HIGHEST_LANE) return 'lane-too-high'
  const lane = lanes.byNumber.get(facts.lane)
  if (lane !== undefined && lane.nonce >= BigInt(facts.nonce)) return 'stale-nonce'
  if (!areMergeable(lanes, facts)) return 'bad-merge'
  const { toSend } = redeemOn(lanes, facts)
  if (toSend < 0n) return 'below-zero'
  return toSend > balance ? 'exceeds-funds' : null
}

interface Merge {
  lane: bigint
  nonce: bigint
}

function redeemOn({ byNumber, toSend }: Lanes, facts: VoucherFacts): Lanes {
  const next = new Map(byNumber)
  let redeemed = byNumber.get(facts.lane)?.redeemed ?? 0n
  for (const { lane, nonce } of mergesOf(facts)) {
    const other = next.get(lane.toString())
    redeemed += other?.redeemed ?? 0n
    next.set(lane.toString(), { redeemed: other?.redeemed ?? 0n, nonce })
  }
  const amount = BigInt(facts.amount)
  next.set(facts.lane, { redeemed: amount, nonce: BigInt(facts.nonce) })
  return { byNumber: next, toSend: toSend + amount - redeemed }
}

/** The actor merges one lane after the other, so a lane named twice needs a rising nonce. */
function areMergeable({ byNumber }: Lanes, facts: VoucherFacts): boolean {
  const merged = new Map<string, bigint>()
  return mergesOf(facts).every(({ lane, nonce }) => {
    const name = lane.toString()
    const before = merged.get(name) ?? byNumber.get(name)?.nonce
    merged.set(name, nonce)
    return name !== facts.lane && before !== undefined && before < nonce
  })
}

/** Only the voucher's bytes name the lanes that it merges; a voucher too long to be kept merges none here. */
function mergesOf({ merges, text }: VoucherFacts): Merge[] {
  if (merges === 0 || text === null) return []
  try {
    return voucherFromText(text).merges
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}
