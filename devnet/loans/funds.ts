import type { ChannelRole, FilecoinHalf } from './filecoin-half.ts'

/** attoFIL that a loan's channel is to hold. */
export function fundsOf({ filAmount }: { filAmount: bigint }, half: FilecoinHalf, role: ChannelRole): bigint {
  return role === 'payback' ? filAmount + (filAmount * BigInt(half.paybackRate)) / 10_000n : filAmount
}

/** attoFIL that it is opened with; the rest follows by a plain send. */
export function firstFunds(loan: { filAmount: bigint }, half: FilecoinHalf, role: ChannelRole): bigint {
  const funds = fundsOf(loan, half, role)
  return half.choices.toppedUp ? (funds * 9n) / 10n : funds
}
