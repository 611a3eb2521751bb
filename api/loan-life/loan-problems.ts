import { useOf } from '../../shared/channels/voucher-use.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'
import {
  clockOf,
  isGivenUp,
  shownChannel,
  type LinkedChannel,
  type LoanLife,
} from '../../shared/loan-life/life.ts'
import { checkVouchers, type VoucherCheck } from '../../shared/loan-life/voucher-check.ts'
import { problemsOf, VOUCHER_PROBLEMS, type VoucherProblem } from './voucher-problems.ts'

/** (pure) What the parties of a loan should know beside its actions. */

export const LOAN_PROBLEMS = {
  'beginning-unknown': 'The event that made the loan was not indexed, so that its terms are not known.',
  'other-channel-named': 'The paymentChannelId of the contract is not the linked channel.',
  'named-channel-not-linked': 'The contract names a channel that is not linked to the loan.',
  'channel-given-up': 'A channel was settled without a redemption: its funds return to their funder.',
  'loan-expired': 'The loan has expired.',
} as const
export type LoanProblemCode = keyof typeof LOAN_PROBLEMS

export interface Problem {
  code: LoanProblemCode | VoucherProblem
  message: string
  /** The robust address of the channel concerned, and the id of the voucher. */
  channel: string | null
  voucher: string | null
}

export function loanProblems(life: LoanLife): Problem[] {
  const shown = life.channels.filter((channel) => channel.shown)
  return [
    ...(life.isBeginningKnown ? [] : [ofLoan('beginning-unknown')]),
    ...namedChannel(life),
    ...(isExpired(life) ? [ofLoan('loan-expired')] : []),
    ...shown.filter(({ channel }) => isGivenUp(channel)).map((linked) => ofLoan('channel-given-up', linked)),
    ...shown
      .filter(({ channel }) => channel.collection === null)
      .flatMap((linked) => ofVouchers(life, linked)),
  ]
}

function ofLoan(code: LoanProblemCode, linked?: LinkedChannel): Problem {
  return { code, message: LOAN_PROBLEMS[code], channel: linked?.channel.robust ?? null, voucher: null }
}

function namedChannel(life: LoanLife): Problem[] {
  if (life.paymentChannelId === null) return []
  const linked = shownChannel(life, life.loanType === 'ERC20FIL' ? 'collateral' : 'principal')
  if (linked === undefined) return [ofLoan('named-channel-not-linked')]
  const own = [linked.channel.robust, linked.channel.channelId].map(canonicalAddress)
  return life.namedChannel !== null && own.includes(life.namedChannel)
    ? []
    : [ofLoan('other-channel-named', linked)]
}

/** Only where the expiration ends something: a withdrawal, a repayment, or the time before a seizure. */
function isExpired(life: LoanLife): boolean {
  const isRunning = life.contractState === '1' || (life.loanType === 'ERC20FIL' && life.contractState === '2')
  const clock = clockOf(life, life.network)
  if (!isRunning || clock === undefined || life.loanExpirationS === null) return false
  return BigInt(clock.timeS) > life.loanExpirationS
}

/** The mistakes in vouchers that are still to be redeemed. */
function ofVouchers(life: LoanLife, linked: LinkedChannel): Problem[] {
  const clock = clockOf(life, linked.network)
  return checkVouchers(linked)
    .filter((check) => check.redemption === null && !isOverruled(check, linked))
    .flatMap((check) =>
      problemsOf(check, linked, life, clock).map((code) => ({
        code,
        message: VOUCHER_PROBLEMS[code],
        channel: linked.channel.robust,
        voucher: check.facts.key,
      })),
    )
}

/** A later voucher of the lane was redeemed in its place: an unlock voucher, or one that pays as much. */
function isOverruled({ facts, signedBy }: VoucherCheck, { role, channel }: LinkedChannel): boolean {
  return channel.redemptions.some(
    (other) =>
      other.facts.lane === facts.lane &&
      BigInt(other.facts.nonce) > BigInt(facts.nonce) &&
      (useOf(role, other.signedBy) === 'unlock' ||
        (other.signedBy === signedBy && BigInt(other.facts.amount) >= BigInt(facts.amount))),
  )
}
