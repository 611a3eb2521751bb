import type { ChannelRole, FilecoinHalf } from './filecoin-half.ts'

/** Returns the attoFIL that a loan's channel must hold. */
export function fundsOf({ filAmount }: { filAmount: bigint }, half: FilecoinHalf, role: ChannelRole): bigint {
  return role === 'payback' ? filAmount + (filAmount * BigInt(half.paybackRate)) / 10_000n : filAmount
}

/** Returns the attoFIL at the channel's creation; a plain send brings the rest. */
export function firstFunds(loan: { filAmount: bigint }, half: FilecoinHalf, role: ChannelRole): bigint {
  const funds = fundsOf(loan, half, role)
  return half.choices.toppedUp ? (funds * 9n) / 10n : funds
}
