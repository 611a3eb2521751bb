import { formatUnits } from '../../shared/amounts.ts'
import { useOf, type ChannelRole, type VoucherUse } from '../../shared/channels/voucher-use.ts'
import { shownAddress } from '../../shared/loan-life/actions.ts'
import {
  actorOf,
  clockOf,
  type Actor,
  type LinkedChannel,
  type LoanLife,
} from '../../shared/loan-life/life.ts'
import { canReveal } from '../../shared/loan-life/secrets.ts'
import {
  chainTime,
  isoOf,
  isOver,
  secondsOfEpoch,
  type ChainTime,
  type Clock,
} from '../../shared/loan-life/times.ts'
import { checkVouchers, type VoucherCheck } from '../../shared/loan-life/voucher-check.ts'
import { problemsOf, VOUCHER_PROBLEMS, type VoucherProblem } from './voucher-problems.ts'

/** (pure) Every known voucher of a loan's channels, decoded and judged. */

const FIL_DECIMALS = 18
const ROLES: ChannelRole[] = ['collateral', 'principal', 'payback']

/** An epoch as a voucher writes it, with its time; the time is null for none and beyond the year 9999. */
export interface EpochText {
  epoch: string
  time: string | null
}

export interface LoanVoucher {
  /** blake2b-256 of the signed bytes, hex. */
  id: string
  role: ChannelRole
  channel: { network: string; id: string; robust: string; shown: boolean }
  use: VoucherUse | 'other'
  signedBy: Actor | null
  signer: string | null
  /** Decimal text of any 64-bit number. */
  lane: string
  nonce: string
  /** Whole FIL. */
  amount: string
  secretHash: string | null
  timeLockMin: EpochText
  timeLockMax: EpochText
  minSettleHeight: EpochText
  /** Standard base64; null if it is too long to be kept. */
  text: string | null
  redeemable: { now: boolean; from: ChainTime | null; until: ChainTime | null }
  /** The id of the voucher that overrules it on its lane. */
  supersededBy: string | null
  redeemed: { txHash: string; epoch: number; time: string | null } | null
  problems: { code: VoucherProblem; message: string }[]
}

/** JSON text of vouchers after which an answer takes no further one. */
const MOST_TEXT = 1024 * 1024

/** As many as fit into an answer, and how many there are. */
export function shownVouchers(life: LoanLife): { vouchers: LoanVoucher[]; total: number } {
  const all = vouchersOf(life)
  let text = 0
  const vouchers = all.filter((voucher) => {
    if (text >= MOST_TEXT) return false
    text += JSON.stringify(voucher).length
    return true
  })
  return { vouchers, total: all.length }
}

/** Sorted by role, the shown channel first, then by lane and nonce. */
export function vouchersOf(life: LoanLife): LoanVoucher[] {
  const ordered = ROLES.flatMap((role) => life.channels.filter((channel) => channel.role === role))
  return ordered.flatMap((linked) => {
    const checks = checkVouchers(linked).sort(byLaneAndNonce)
    return checks.map((check) => describe(check, checks, linked, life))
  })
}

function describe(
  check: VoucherCheck,
  all: readonly VoucherCheck[],
  linked: LinkedChannel,
  life: LoanLife,
): LoanVoucher {
  const { facts, signedBy, redemption } = check
  const { network, role, channel, shown } = linked
  const clock = clockOf(life, network)
  const epochText = (epoch: string): EpochText => ({ epoch, time: timeOf(BigInt(epoch), clock) })
  return {
    id: facts.key,
    role,
    channel: { network, id: channel.channelId, robust: channel.robust, shown },
    use: useOf(role, signedBy) ?? 'other',
    signedBy: signedBy === null ? null : actorOf(role, signedBy),
    signer: signedBy === null ? null : shownAddress(channel[signedBy]),
    lane: facts.lane,
    nonce: facts.nonce,
    amount: formatUnits(BigInt(facts.amount), FIL_DECIMALS),
    secretHash: facts.secretHash,
    timeLockMin: epochText(facts.timeLockMin),
    timeLockMax: epochText(facts.timeLockMax),
    minSettleHeight: epochText(facts.minSettleHeight),
    text: facts.text,
    redeemable: redeemable(check, linked, life, clock),
    supersededBy: successor(check, all)?.facts.key ?? null,
    redeemed: redemption && { ...redemption, time: timeOf(BigInt(redemption.epoch), clock) },
    problems: problemsOf(check, linked, life, clock).map((code) => ({
      code,
      message: VOUCHER_PROBLEMS[code],
    })),
  }
}

/** `now` is the epoch after the last indexed one, from the party that did not sign. */
function redeemable(
  { facts, signedBy, redemption, refusal, window }: VoucherCheck,
  { network, role }: LinkedChannel,
  life: LoanLife,
  clock: Clock | undefined,
): LoanVoucher['redeemable'] {
  if (redemption !== null || refusal !== null || signedBy === null || isOver(window, network, clock))
    return { now: false, from: null, until: null }
  const next = clock === undefined ? null : BigInt(clock.height) + 1n
  const hasBegun = window.from === null || (next !== null && window.from <= next)
  return {
    now: hasBegun && canReveal(life, role, signedBy, facts.secretHash),
    from: chainTime(window.from, 'from', network, clock),
    until: chainTime(window.until, 'until', network, clock),
  }
}

/** A redeemed voucher of the lane overrules those below it; until then the signer's highest nonce does. */
function successor(check: VoucherCheck, all: readonly VoucherCheck[]): VoucherCheck | undefined {
  if (check.redemption !== null) return undefined
  const later = all.filter(
    (other) =>
      other.facts.lane === check.facts.lane &&
      BigInt(other.facts.nonce) >= BigInt(check.facts.nonce) &&
      (other.redemption !== null ||
        (other.signedBy === check.signedBy && BigInt(other.facts.nonce) > BigInt(check.facts.nonce))),
  )
  return later.find(({ redemption }) => redemption !== null) ?? later.at(-1)
}

function timeOf(epoch: bigint, clock: Clock | undefined): string | null {
  return epoch <= 0n || clock === undefined ? null : isoOf(secondsOfEpoch(epoch, clock))
}

function byLaneAndNonce({ facts: a }: VoucherCheck, { facts: b }: VoucherCheck): number {
  return (
    compare(BigInt(a.lane), BigInt(b.lane)) ||
    compare(BigInt(a.nonce), BigInt(b.nonce)) ||
    (a.key < b.key ? -1 : 1)
  )
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
