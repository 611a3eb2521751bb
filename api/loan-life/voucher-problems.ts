import { secretHashFor, useOf, type VoucherUse } from '../../shared/channels/voucher-use.ts'
import type { Channel } from '../../shared/channels/channel.ts'
import type { VoucherFacts } from '../../shared/events/filecoin-event.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'
import type { LinkedChannel, LoanLife } from '../../shared/loan-life/life.ts'
import { isPossibleHash } from '../../shared/loan-life/secrets.ts'
import { secondsOfEpoch, type Clock } from '../../shared/loan-life/times.ts'
import type { VoucherCheck } from '../../shared/loan-life/voucher-check.ts'

/** (pure) Mistakes in a voucher that its parties can still notice in time. */

export const VOUCHER_PROBLEMS = {
  'seconds-for-epochs': 'A time lock or settle height holds a Unix time, where the chain reads an epoch.',
  'time-locks-crossed': 'Its timeLockMin comes after its timeLockMax.',
  expired: 'Its timeLockMax has passed.',
  'expires-too-early': 'Its timeLockMax comes before the time at which the loan needs it.',
  'too-late-for-loan': 'It cannot be redeemed before the loan expires.',
  'channel-settled': 'Its channel has settled and takes no voucher any more.',
  'too-late-for-channel': 'Its channel settles before its timeLockMin.',
  'stale-nonce': 'A voucher with the same or a higher nonce was redeemed on its lane.',
  'does-not-unlock':
    'It does not overrule the seize voucher: its lane is another one, or its nonce is not higher.',
  'lane-too-high': 'Its lane is higher than 2^63-1, the highest that a channel has.',
  'bad-merge': 'It merges a lane that the channel does not have in that form.',
  'negative-amount': 'Its amount is negative.',
  'below-zero': 'Its amount is lower than its lane allows, so that the channel would owe less than nothing.',
  'exceeds-funds': 'Its channel does not hold as much.',
  'wrong-amount': 'Its amount is not the one that the terms of the loan ask for.',
  'no-secret-hash': 'It asks for no secret: the other party can redeem it at any time.',
  'other-secret-hash': 'It asks for another secret than the loan’s.',
  'impossible-secret-hash': 'No secret can have its hash.',
  'other-channel': 'It names another channel.',
  'unknown-signer': 'Neither known party of the channel signed it.',
  'calls-another-actor': 'Its redemption calls another actor, which can refuse.',
} as const
export type VoucherProblem = keyof typeof VOUCHER_PROBLEMS

/** The year 2001 in seconds; as an epoch about a thousand years away. A larger number than the next means never. */
const FIRST_TIME = 1_000_000_000n
const LAST_TIME_MS = 10_000_000_000_000n

export function problemsOf(
  check: VoucherCheck,
  linked: LinkedChannel,
  life: LoanLife,
  clock: Clock | undefined,
): VoucherProblem[] {
  const found = [...timesOf(check), ...contentOf(check, linked, life)]
  if (check.redemption === null) found.push(...prospectsOf(check, linked, life, clock))
  const isFound = new Set(found)
  return (Object.keys(VOUCHER_PROBLEMS) as VoucherProblem[]).filter((problem) => isFound.has(problem))
}

function timesOf({ facts }: VoucherCheck): VoucherProblem[] {
  const [min, max, settle] = [facts.timeLockMin, facts.timeLockMax, facts.minSettleHeight].map(BigInt)
  const isTime = (value = 0n): boolean => value >= FIRST_TIME && value < LAST_TIME_MS
  const isCrossed = max !== 0n && min !== undefined && max !== undefined && min > max
  return [
    ...([min, max, settle].some(isTime) ? (['seconds-for-epochs'] as const) : []),
    ...(isCrossed ? (['time-locks-crossed'] as const) : []),
  ]
}

function contentOf(
  { facts, signedBy }: VoucherCheck,
  { role, channel }: LinkedChannel,
  life: LoanLife,
): VoucherProblem[] {
  const problems: VoucherProblem[] = []
  const use = useOf(role, signedBy)
  if (signedBy === null) problems.push('unknown-signer')
  const named = canonicalAddress(facts.channelAddr)
  if (![channel.robust, channel.channelId].some((own) => canonicalAddress(own) === named))
    problems.push('other-channel')
  if (BigInt(facts.amount) < 0n) problems.push('negative-amount')
  if (facts.hasExtra) problems.push('calls-another-actor')
  if (use === 'unlock' && !overrulesSeizures(facts, channel)) problems.push('does-not-unlock')
  if (use !== null && isWrongAmount(BigInt(facts.amount), use, role, life)) problems.push('wrong-amount')
  const { secretHash } = facts
  if (secretHash === null) {
    if (use !== null) problems.push('no-secret-hash')
    return problems
  }
  if (!isPossibleHash(secretHash)) problems.push('impossible-secret-hash')
  const expected = use === null ? null : secretHashFor(use, role, life)
  if (expected !== null && expected !== secretHash) problems.push('other-secret-hash')
  return problems
}

/** After the unlock voucher no seize voucher may be redeemable. */
function overrulesSeizures({ lane, nonce, merges }: VoucherFacts, { vouchers }: Channel): boolean {
  if (merges > 0) return true
  const seizures = vouchers.filter(({ signedBy }) => useOf('collateral', signedBy) === 'seize')
  return seizures.every(({ facts }) => facts.lane === lane && BigInt(facts.nonce) < BigInt(nonce))
}

function isWrongAmount(
  amount: bigint,
  use: VoucherUse,
  role: LinkedChannel['role'],
  { collateralAttoFil, principalAttoFil, interestRate }: LoanLife,
): boolean {
  if (use === 'unlock') return amount !== 0n
  if (use === 'seize') return collateralAttoFil !== null && amount !== collateralAttoFil
  if (principalAttoFil === null) return false
  if (role === 'principal') return amount !== principalAttoFil
  return amount < principalAttoFil + (principalAttoFil * (interestRate ?? 0n)) / 10n ** 18n
}

/** Problems of a voucher that still waits for its redemption. */
function prospectsOf(
  { refusal, window, facts, signedBy }: VoucherCheck,
  { role, channel }: LinkedChannel,
  life: LoanLife,
  clock: Clock | undefined,
): VoucherProblem[] {
  if (refusal !== null) return [refusal]
  const problems: VoucherProblem[] = []
  const { loanExpirationS, acceptExpirationS } = life
  const timeLockMax = facts.timeLockMax === '0' ? null : BigInt(facts.timeLockMax)
  const settlingAt = channel.settlement === null ? null : BigInt(channel.settlement.settlingAtEpoch)
  if (settlingAt !== null && window.from !== null && window.from >= settlingAt)
    problems.push('too-late-for-channel')
  if (clock === undefined) return problems
  const next = BigInt(clock.height) + 1n
  if (timeLockMax !== null && timeLockMax < next) problems.push('expired')
  if (settlingAt !== null && settlingAt <= next) problems.push('channel-settled')
  const use = useOf(role, signedBy)
  const neededAtS = use === 'seize' ? loanExpirationS : use === 'unlock' ? acceptExpirationS : null
  if (timeLockMax !== null && neededAtS !== null && secondsOfEpoch(timeLockMax, clock) <= neededAtS)
    problems.push('expires-too-early')
  const first = window.from !== null && window.from > next ? window.from : next
  const isRunning = life.contractState === '1' && loanExpirationS !== null
  if (use === 'pay' && isRunning && secondsOfEpoch(first, clock) > loanExpirationS)
    problems.push('too-late-for-loan')
  return problems
}
