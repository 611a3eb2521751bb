import type { ChannelRole } from '../../../shared/channels/voucher-use.ts'
import type { LoanType } from '../../../shared/events/chain-event.ts'
import type { Channel } from '../../../shared/channels/channel.evolve.ts'
import type { LoanFacts } from '../../../shared/loans/loan-facts.evolve.ts'

export type { ChannelRole } from '../../../shared/channels/voucher-use.ts'

/** Evidence, strongest first: the contract names the channel; a secret hash; a signed statement; the parties. */
export const STRENGTH = { contract: 4, secretHash: 3, statement: 2, parties: 1 } as const
export type Strength = (typeof STRENGTH)[keyof typeof STRENGTH]

export interface Link {
  loanType: LoanType
  loanId: string
  role: ChannelRole
  strength: Strength
}

/**
 * Seconds of tolerance between the block times of two chains. A tipset's time is the start of its epoch; a block's time
 * is chosen by its producer. A loan that has ended normally has its channel already, so loans that had not ended come
 * first.
 */
export const CLOCK_TOLERANCE_S = 120

/** Names of a channel's two parties in canonical form. */
export interface PartyNames {
  from: readonly string[]
  recipient: readonly string[]
}

/** A channel's names in canonical form, computed once, and the channels that loans name. */
interface Names extends PartyNames {
  addresses: readonly (string | null)[]
  named: NamedChannels
}

/** The existing channels that loan contracts name, by each of their addresses. */
export type NamedChannels = ReadonlyMap<string, readonly PartyNames[]>

/** Anybody can copy the parties' addresses too: a match beats none, but does not decide between two. */
export const PROOF = { parties: 1, secretHash: 2, statement: 3 } as const

/** A link, with what decides between claims of equal strength. */
export interface Claim extends Link {
  /**
   * How plainly the channel's own parties signed for this loan (see {@link PROOF}); 0 unless the contract names the
   * channel.
   */
  proof: number
  /** Whether the loan had not ended when the channel was made; false unless it matches by parties. */
  isOpen: boolean
  agreedS: number
}

/** The claims of a loan on a channel, in each of its roles. */
export function claimsOf(loan: LoanFacts, channel: Channel, names: Names): Claim[] {
  const roles: ChannelRole[] = loan.loanType === 'ERC20FIL' ? ['collateral'] : ['principal', 'payback']
  return roles.flatMap((role) => {
    const strength = strengthOf(loan, role, channel, names)
    if (strength === null) return []
    const proof = strength === STRENGTH.contract ? proofOf(loan, role, channel, names) : 0
    const isOpen = strength === STRENGTH.parties && isFitting(loan, role, channel, names, 0)
    const agreedS = loan.times.agreedS ?? Infinity
    return [{ loanType: loan.loanType, loanId: loan.loanId, role, strength, proof, isOpen, agreedS }]
  })
}

function proofOf(loan: LoanFacts, role: ChannelRole, channel: Channel, names: Names): number {
  if (isStated(loan, role, channel, names)) return PROOF.statement
  if (compareParties(loan, role, names) !== 'same') return 0
  return hasHashOf(loan, role, channel) ? PROOF.secretHash : PROOF.parties
}

/** The strongest tie between a loan and a channel in that role; null if there is none. */
function strengthOf(loan: LoanFacts, role: ChannelRole, channel: Channel, names: Names): Strength | null {
  const parties = compareParties(loan, role, names)
  // Anybody can write any channel into their own contract, so readable parties must match.
  if (parties === 'other') return null
  const claimed = claimedChannel(loan, names)
  if (role === 'payback') {
    if (claimed === 'this') return null
  } else {
    if (claimed === 'this') return STRENGTH.contract
    if (claimed === 'other') return null
  }
  if (parties === 'same' && hasHashOf(loan, role, channel)) return STRENGTH.secretHash
  if (isStated(loan, role, channel, names)) return STRENGTH.statement
  return isFitting(loan, role, channel, names, CLOCK_TOLERANCE_S) ? STRENGTH.parties : null
}

/**
 * The channel that the contract claims for the loan. A name counts only if a channel has it and the parties do not
 * contradict the loan. A party can write anything there, and a Filecoin reorg can renumber the channel.
 */
function claimedChannel(loan: LoanFacts, names: Names): 'this' | 'other' | 'none' {
  const { namedChannel } = loan
  if (namedChannel === null) return 'none'
  const role = loan.loanType === 'ERC20FIL' ? 'collateral' : 'principal'
  const fits = (parties: PartyNames): boolean => compareParties(loan, role, parties) !== 'other'
  if (names.addresses.includes(namedChannel) && fits(names)) return 'this'
  return names.named.get(namedChannel)?.some(fits) === true ? 'other' : 'none'
}

/** The funder and the recipient of a channel in that role; null while the contract does not name them. */
function partiesOf(loan: LoanFacts, role: ChannelRole): { from: string | null; recipient: string | null } {
  return role === 'principal'
    ? { from: loan.lender, recipient: loan.borrower }
    : { from: loan.borrower, recipient: loan.lender }
}

/** 'same' if at least one party is known and each comparable one is the channel's. */
function compareParties(loan: LoanFacts, role: ChannelRole, names: PartyNames): 'same' | 'other' | 'unknown' {
  const { from, recipient } = partiesOf(loan, role)
  const found = [compareNames(from, names.from), compareNames(recipient, names.recipient)]
  if (found.includes('other')) return 'other'
  return found.includes('same') ? 'same' : 'unknown'
}

/** 'unknown' also if no node knew a name of that kind: both names may belong to one actor. */
function compareNames(name: string | null, names: readonly string[]): 'same' | 'other' | 'unknown' {
  if (name === null) return 'unknown'
  if (names.includes(name)) return 'same'
  return names.some((other) => excludes(other, name)) ? 'other' : 'unknown'
}

/** Kinds of addresses by their protocol. */
const KINDS: Readonly<Record<string, string>> = { 0: 'id', 1: 'key', 2: 'actor', 3: 'key', 4: 'delegated' }

/** Every actor has one ID, and either a key address alone, or an actor address, a delegated one, or both. */
function excludes(a: string, b: string): boolean {
  const kinds = [a, b].map((name) => KINDS[name.charAt(1)])
  return kinds[0] === kinds[1] || (kinds.includes('key') && !kinds.includes('id'))
}

/** A voucher of the expected signer with the loan's hash: its redeemer must reveal the loan's secret. */
function hasHashOf(loan: LoanFacts, role: ChannelRole, { vouchers }: Channel): boolean {
  const { secretHashA1, secretHashB1 } = loan
  return vouchers.some(({ facts: { secretHash }, signedBy }) => {
    if (secretHash === null) return false
    if (role === 'payback') return signedBy === 'from' && secretHash === secretHashB1
    if (signedBy === 'from') return secretHash === secretHashA1
    return role === 'collateral' && secretHash === secretHashB1
  })
}

function isStated(loan: LoanFacts, role: ChannelRole, { statements }: Channel, names: Names): boolean {
  // A statement names the loan but not the role, which follows from the channel's funder.
  const paysBack = loan.borrower !== null && names.from.includes(loan.borrower)
  if (loan.loanType === 'FILERC20' && paysBack !== (role === 'payback')) return false
  return statements.some(
    (statement) =>
      statement.contractLoanId === loan.contractLoanId &&
      statement.contract.toLowerCase() === loan.contract.toLowerCase() &&
      (statement.networkId ?? loan.networkId) === loan.networkId,
  )
}

/** Whether the loan was waiting for such a channel when it was made, or had stopped within the end tolerance. */
function isFitting(
  loan: LoanFacts,
  role: ChannelRole,
  channel: Channel,
  names: Names,
  endToleranceS: number,
): boolean {
  const { openedS, agreedS, endedS } = loan.times
  const { from, recipient } = partiesOf(loan, role)
  if (!isParty(recipient, names.recipient)) return false
  if (role === 'payback')
    return isParty(from, names.from) && isWithin(channel.createdTimeS, agreedS, endedS, endToleranceS)
  // Anybody can add funds later, so the initial value counts as well.
  const amounts = [channel.value, channel.deposits].map(BigInt)
  if (role === 'principal' && !amounts.some((amount) => amount === loan.requestedAttoFil)) return false
  return isWithin(channel.createdTimeS, openedS, agreedS ?? endedS, endToleranceS)
}

function isParty(name: string | null, names: readonly string[]): boolean {
  return name !== null && names.includes(name)
}

/** Unix seconds of two chains; null as `toS` is an open end. The start always has the clock tolerance. */
function isWithin(timeS: number, fromS: number | null, toS: number | null, endToleranceS: number): boolean {
  if (fromS === null || timeS < fromS - CLOCK_TOLERANCE_S) return false
  return toS === null || timeS < toS + endToleranceS
}
