import type { LoanType } from '../../../shared/events/chain-event.ts'
import { canonicalAddress } from '../../../shared/filecoin/address.ts'
import { namesOf, type Channel } from '../channels/channel.evolve.ts'
import type { LoanFacts } from './loan-facts.evolve.ts'

/** Collateral secures a token loan in FIL; principal and payback carry the FIL of a FIL loan. */
export type ChannelRole = 'collateral' | 'principal' | 'payback'

/** Evidence, strongest first: the contract names the channel; a secret hash; a signed statement; the parties. */
export const STRENGTH = { contract: 4, secretHash: 3, statement: 2, parties: 1 } as const
export type Strength = (typeof STRENGTH)[keyof typeof STRENGTH]

export interface Link {
  loanType: LoanType
  loanId: string
  role: ChannelRole
  strength: Strength
}

export interface LinkDecision {
  link: Link | null
  /**
   * Subjects of the loans with a claim: a change of one of them repeats the decision. Only a few loans tied by their
   * parties alone are listed, because two are as undecided as a thousand.
   */
  claimants: string[]
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

/** A channel's names, computed once, and the channels that loans name. */
interface Names extends PartyNames {
  robust: string | null
  channelId: string | null
  named: NamedChannels
}

/** The existing channels that loan contracts name, by each of their addresses. */
export type NamedChannels = ReadonlyMap<string, readonly PartyNames[]>

/**
 * Decides which loan a channel belongs to, by protocol.md section 5: the strongest claim wins. Equally strong claims by
 * two loans or roles decide nothing, unless something signed on Filecoin supports one. Anybody can write any channel
 * into a contract of their own. Between matches by parties, a loan that had not ended comes first. The result depends
 * only on the channels and loans, not on their order of arrival.
 */
export function linkChannel(channel: Channel, loans: LoanIndex, named: NamedChannels): LinkDecision {
  const names: Names = {
    robust: canonicalAddress(channel.robust),
    channelId: canonicalAddress(channel.channelId),
    from: namesOf(channel.from),
    recipient: namesOf(channel.recipient),
    named,
  }
  const claims = claimsOn(channel, names, loans)
  const strongest = claims.reduce((most, { strength }) => Math.max(most, strength), 0)
  const best = claims.filter(({ strength }) => strength === strongest)
  return {
    link: linkOf(best.length > 1 ? decided(best, strongest) : best),
    claimants: [...new Set(claims.map(({ loanType, loanId }) => `${loanType}/${loanId}`))].sort(),
  }
}

/** Claims of all loans with strong evidence, and of a few that match by their parties alone. */
function claimsOn(channel: Channel, names: Names, loans: LoanIndex): Claim[] {
  const strong = new Set([
    ...[names.robust, names.channelId].flatMap((name) =>
      name === null ? [] : (loans.byChannel.get(name) ?? []),
    ),
    ...channel.vouchers.flatMap(({ facts: { secretHash } }) =>
      secretHash === null ? [] : (loans.bySecretHash.get(secretHash) ?? []),
    ),
    ...channel.statements.flatMap(({ contractLoanId }) => loans.byContractLoanId.get(contractLoanId) ?? []),
  ])
  const claims = [...strong].flatMap((loan) => claimsOf(loan, channel, names))
  const fitting = new Set(
    [...names.from, ...names.recipient].flatMap((name) => loans.byParty.get(name) ?? []),
  )
  const byParties = claims.filter(({ strength }) => strength === STRENGTH.parties)
  let open = byParties.filter(({ isOpen }) => isOpen).length
  let ended = byParties.length - open
  for (const loan of fitting) {
    if (open >= 2) break
    if (strong.has(loan)) continue
    for (const claim of claimsOf(loan, channel, names)) {
      if (claim.isOpen) open += 1
      else ended += 1
      if (claim.isOpen || ended <= 2) claims.push(claim)
    }
  }
  return claims
}

/** Loans by each kind of evidence; every list is in the order of subjects. */
export interface LoanIndex {
  byChannel: Map<string, LoanFacts[]>
  bySecretHash: Map<string, LoanFacts[]>
  byContractLoanId: Map<string, LoanFacts[]>
  byParty: Map<string, LoanFacts[]>
}

export function indexLoans(loans: readonly LoanFacts[]): LoanIndex {
  const index: LoanIndex = {
    byChannel: new Map(),
    bySecretHash: new Map(),
    byContractLoanId: new Map(),
    byParty: new Map(),
  }
  const put = (map: Map<string, LoanFacts[]>, key: string | null, loan: LoanFacts): void => {
    if (key === null) return
    const list = map.get(key)
    if (list === undefined) map.set(key, [loan])
    else if (list.at(-1) !== loan) list.push(loan)
  }
  const subject = ({ loanType, loanId }: LoanFacts): string => `${loanType}/${loanId}`
  for (const loan of [...loans].sort((a, b) => (subject(a) < subject(b) ? -1 : 1))) {
    put(index.byChannel, loan.namedChannel, loan)
    put(index.bySecretHash, loan.secretHashA1, loan)
    put(index.bySecretHash, loan.secretHashB1, loan)
    put(index.byContractLoanId, loan.contractLoanId, loan)
    put(index.byParty, loan.borrower, loan)
    put(index.byParty, loan.lender, loan)
  }
  return index
}

function linkOf(claims: readonly Claim[]): Link | null {
  const [claim] = claims
  if (claim === undefined || claims.length > 1) return null
  const { loanType, loanId, role, strength } = claim
  return { loanType, loanId, role, strength }
}

/** Anybody can copy the parties' addresses too: a match beats none, but does not decide between two. */
const PROOF = { parties: 1, secretHash: 2, statement: 3 } as const

/** A link, with what decides between claims of equal strength. */
interface Claim extends Link {
  /**
   * How plainly the channel's own parties signed for this loan (see {@link PROOF}); 0 unless the contract names the
   * channel.
   */
  proof: number
  /** Whether the loan had not ended when the channel was made; false unless it matches by parties. */
  isOpen: boolean
  agreedS: number
}

/** Narrows equally strong claims to those that take precedence. */
function decided(claims: readonly Claim[], strength: number): readonly Claim[] {
  if (strength !== STRENGTH.parties) return proven(claims)
  const open = claims.filter(({ isOpen }) => isOpen)
  return open.length === 0 ? claims : open
}

/**
 * Among loans whose contracts name one channel, selects the one with its maker's statement or voucher. A contract that
 * copies the hash is agreed later than the original, so the earliest one wins.
 */
function proven(claims: readonly Claim[]): readonly Claim[] {
  const most = Math.max(...claims.map(({ proof }) => proof))
  const best = claims.filter(({ proof }) => proof === most)
  if (most <= PROOF.parties) return best
  const first = Math.min(...best.map(({ agreedS }) => agreedS))
  return best.filter(({ agreedS }) => agreedS === first)
}

function claimsOf(loan: LoanFacts, channel: Channel, names: Names): Claim[] {
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
  const isNamed = namedChannel === names.channelId || namedChannel === names.robust
  if (isNamed && fits(names)) return 'this'
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
  return names.some((other) => excludes(kindOf(other), kindOf(name))) ? 'other' : 'unknown'
}

type NameKind = 'id' | 'key' | 'actor' | 'delegated'

/** Every actor has one ID, and either a key address alone, or an actor address, a delegated one, or both. */
function excludes(a: NameKind, b: NameKind): boolean {
  if (a === b) return true
  return a !== 'id' && b !== 'id' && (a === 'key' || b === 'key')
}

function kindOf(name: string): NameKind {
  switch (name.charAt(1)) {
    case '0':
      return 'id'
    case '2':
      return 'actor'
    case '4':
      return 'delegated'
    default:
      return 'key'
  }
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
  switch (role) {
    case 'collateral':
      return (
        isParty(recipient, names.recipient) &&
        isWithin(channel.createdTimeS, openedS, agreedS ?? endedS, endToleranceS)
      )
    case 'principal':
      return (
        isParty(recipient, names.recipient) &&
        // Anybody can add funds later, so the initial value counts as well.
        [channel.value, channel.deposits].some((amount) => BigInt(amount) === loan.requestedAttoFil) &&
        isWithin(channel.createdTimeS, openedS, agreedS ?? endedS, endToleranceS)
      )
    case 'payback':
      return (
        isParty(from, names.from) &&
        isParty(recipient, names.recipient) &&
        isWithin(channel.createdTimeS, agreedS, endedS, endToleranceS)
      )
    default:
      return role satisfies never
  }
}

function isParty(name: string | null, names: readonly string[]): boolean {
  return name !== null && names.includes(name)
}

/** Unix seconds of two chains; null as `toS` is an open end. The start always has the clock tolerance. */
function isWithin(timeS: number, fromS: number | null, toS: number | null, endToleranceS: number): boolean {
  if (fromS === null || timeS < fromS - CLOCK_TOLERANCE_S) return false
  return toS === null || timeS < toS + endToleranceS
}
