import { formatUnits } from '../amounts.ts'
import type { FilecoinIdentity } from '../events/filecoin-event.ts'
import { loanFacts, type LoanFacts } from '../loans/loan-facts.evolve.ts'
import type { Loan } from '../loans/loans.evolve.ts'
import type { ChannelRole } from './voucher-use.ts'
import { FIL_DECIMALS } from '../loans/erc20-loan.evolve.ts'
import { lastUse, latestVoucher, vouchersFor } from './channel-records.evolve.ts'
import type { Channel, KnownVoucher } from './channel.evolve.ts'

/** The contract's half of a loan, as far as the Filecoin parts of a lookup show it. */
export interface LoanSide {
  facts: LoanFacts
  borrower: string | null
  lender: string | null
  /** 0x hex, as on the contract. */
  secretA1: string | null
  secretB1: string | null
  /** Whole FIL that a request asks for; null for a token loan. */
  principalAmount: string | null
}

/** The contract's half of this loan. */
export function sideOf({
  loanType,
  loanId,
  part,
  times,
}: Pick<Loan, 'loanType' | 'loanId' | 'part' | 'times'>): LoanSide {
  return {
    facts: loanFacts(loanType, loanId, part, times),
    borrower: part.borrower,
    lender: part.lender,
    secretA1: part.secretA1,
    secretB1: part.secretB1,
    principalAmount: 'collateralLockContractAddress' in part ? part.principalAmount : null,
  }
}

/** One Filecoin part of a lookup, without id and times. Fields are in response order, values are text or null. */
export type ChannelPart = Record<string, string | null>

export interface PartAndState {
  part: ChannelPart
  /** The value of the part's `state` field. */
  state: string
}

export function partOf(role: ChannelRole, channel: Channel, loan: LoanSide, networkId: string): PartAndState {
  const state =
    role === 'collateral' ? collateralState(channel, loan.facts) : payState(role, channel, loan.facts)
  switch (role) {
    case 'collateral':
      return { state, part: { ...collateralPart(channel, loan, networkId), state } }
    case 'principal':
      return { state, part: { ...principalPart(channel, loan, networkId), state } }
    case 'payback':
      return { state, part: { ...paybackPart(channel, loan, networkId), state } }
    default:
      return role satisfies never
  }
}

/**
 * 0 channel made, 1 seize voucher signed, 2 unlock voucher signed, 3 unlock redeemed, 4 settling to unlock,
 * 5 collected, 6 seize redeemed, 7 settling to seize, 8 collected by seizure.
 */
function collateralState(channel: Channel, loan: LoanFacts): string {
  const { redemptions, settlement, collection } = channel
  const isSeized = lastUse('collateral', redemptions, redemptions.length) === 'seize'
  if (collection !== null) return isSeized ? '8' : '5'
  if (settlement !== null) return isSeized ? '7' : '4'
  if (lastUse('collateral', redemptions, redemptions.length) !== null) return isSeized ? '6' : '3'
  if (vouchersFor('unlock', 'collateral', channel, loan).length > 0) return '2'
  return vouchersFor('seize', 'collateral', channel, loan).length > 0 ? '1' : '0'
}

/** Unix seconds at which the collateral was settled with the seize voucher, states 7 and 8; else null. */
export function seizedAtS({ redemptions, settlement }: Channel): number | null {
  const isSeized = lastUse('collateral', redemptions, redemptions.length) === 'seize'
  return isSeized ? (settlement?.timeS ?? null) : null
}

/** 0 channel made, 1 voucher signed, 2 redeemed, 3 settling, 4 collected. */
function payState(role: ChannelRole, channel: Channel, loan: LoanFacts): string {
  const { redemptions, settlement, collection } = channel
  if (collection !== null) return '4'
  if (settlement !== null) return '3'
  if (lastUse(role, redemptions, redemptions.length) !== null) return '2'
  return vouchersFor('pay', role, channel, loan).length > 0 ? '1' : '0'
}

function collateralPart(channel: Channel, loan: LoanSide, networkId: string): ChannelPart {
  const seize = latestVoucher('seize', 'collateral', channel, loan.facts)
  const unlock = latestVoucher('unlock', 'collateral', channel, loan.facts)
  return {
    paymentChannelId: channel.channelId,
    paymentChannelAddress: channel.robust,
    ethBorrower: loan.borrower,
    ethLender: loan.lender,
    filBorrower: shownAddress(channel.from),
    filLender: shownAddress(channel.recipient),
    amount: wholeFil(channel.deposits),
    txHash: channel.cid,
    secretHashA1: loan.facts.secretHashA1 ?? seize?.facts.secretHash ?? null,
    secretA1: secretText(loan.secretA1 ?? secretOf(channel, seize)),
    secretB1: secretText(loan.secretB1 ?? secretOf(channel, unlock)),
    signedVoucher: seize?.facts.text ?? null,
    unlockSignedVoucher: unlock?.facts.text ?? null,
    network: networkId,
    ...settling(channel),
    erc20LoanId: loan.facts.loanId,
    erc20LoanContractId: loan.facts.contractLoanId,
    erc20LoansContract: loan.facts.contract,
    erc20LoansNetworkId: loan.facts.networkId,
  }
}

function principalPart(channel: Channel, loan: LoanSide, networkId: string): ChannelPart {
  const voucher = latestVoucher('pay', 'principal', channel, loan.facts)
  return {
    paymentChannelId: channel.channelId,
    paymentChannelAddress: channel.robust,
    filLender: shownAddress(channel.from),
    filBorrower: shownAddress(channel.recipient),
    ethLender: loan.lender,
    ethBorrower: loan.borrower,
    lockedAmount: wholeFil(channel.deposits),
    network: networkId,
    secretHashB1: loan.facts.secretHashB1,
    principalAmount: voucher === undefined ? loan.principalAmount : wholeFil(voucher.facts.amount),
    txHash: channel.cid,
    ...lockOf(loan),
    signedVoucher: voucher?.facts.text ?? null,
    secretA1: secretText(loan.secretA1 ?? secretOf(channel, voucher)),
    ...settling(channel),
  }
}

function paybackPart(channel: Channel, loan: LoanSide, networkId: string): ChannelPart {
  const voucher = latestVoucher('pay', 'payback', channel, loan.facts)
  return {
    paymentChannelId: channel.channelId,
    paymentChannelAddress: channel.robust,
    filLender: shownAddress(channel.recipient),
    filBorrower: shownAddress(channel.from),
    amount: wholeFil(channel.deposits),
    txHash: channel.cid,
    secretHashB1: loan.facts.secretHashB1 ?? voucher?.facts.secretHash ?? null,
    secretB1: secretText(loan.secretB1 ?? secretOf(channel, voucher)),
    signedVoucher: voucher?.facts.text ?? null,
    network: networkId,
    ...settling(channel),
    ...lockOf(loan),
  }
}

function lockOf({ facts }: LoanSide): ChannelPart {
  return {
    collateralLockId: facts.loanId,
    collateralLockContractId: facts.contractLoanId,
    collateralLockContractAddress: facts.contract,
    collateralLockNetworkId: facts.networkId,
  }
}

/** An epoch's time follows from its height alone, so the estimate does not depend on the head. */
function settling({ settlement }: Channel): ChannelPart {
  if (settlement === null) return { settlingAtHeight: null, settlingAtEstTimestamp: null }
  const { settlingAtEpoch, epoch, timeS, epochDurationS } = settlement
  return {
    settlingAtHeight: exact(settlingAtEpoch),
    settlingAtEstTimestamp: exact(timeS + (settlingAtEpoch - epoch) * epochDurationS),
  }
}

/**
 * A voucher can defer settlement to epoch 2^63-1, which means never and exceeds the safe integers; null in that case.
 */
function exact(value: number): string | null {
  return Number.isSafeInteger(value) ? value.toString() : null
}

function wholeFil(attoFil: string): string {
  return formatUnits(BigInt(attoFil), FIL_DECIMALS)
}

/** Prefers the robust address: a reorg can reassign an ID address. */
function shownAddress({ robust: [first], id, asWritten }: FilecoinIdentity): string {
  return first ?? id ?? asWritten
}

/** A redemption reveals the secret behind the voucher's hash, so it is public for every voucher with that hash. */
function secretOf({ redemptions }: Channel, voucher: KnownVoucher | undefined): string | null {
  const hash = voucher?.facts.secretHash ?? null
  if (hash === null) return null
  return redemptions.find(({ facts, secret }) => facts.secretHash === hash && secret !== null)?.secret ?? null
}

/** The secret as text if its bytes are UTF-8 without a zero byte, which Postgres text cannot hold; else the hex. */
export function secretText(hex: string | null): string | null {
  if (hex === null) return null
  const bytes = Uint8Array.from(hex.slice(2).match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\u0000') ? hex : text
  } catch {
    return hex
  }
}
