import { isEvmEvent } from '../../../shared/events/chain-event.ts'
import type { FilecoinIdentity } from '../../../shared/events/filecoin-event.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { naturalKey, networkIdOf } from '../../../shared/events/natural-key.ts'
import { canonicalAddress } from '../../../shared/filecoin/address.ts'
import { groupBy } from '../../../shared/group-by.ts'
import { CLOCK_TOLERANCE_S, STRENGTH, type Link, type NamedChannels } from '../links/link.evolve.ts'
import { linkChannel } from '../links/link-channel.evolve.ts'
import { indexLoans } from '../links/loan-index.evolve.ts'
import type { LoanFacts } from '../../../shared/loans/loan-facts.evolve.ts'
import { IDS_PER_ENTRY, type FoldContext, type Projection } from '../projection.ts'
import { subjectsOf } from '../../../shared/events/entry-steps.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { putChannelHistories, type ChannelHistory } from './channel-history.store.ts'
import { partOf, seizedAtS } from '../../../shared/channels/channel-parts.evolve.ts'
import {
  recordsOf,
  vouchersFor,
  type ChannelRecord,
} from '../../../shared/channels/channel-records.evolve.ts'
import {
  addressesOf,
  deleteChannels,
  getChannelsNamed,
  getChannelsOf,
  getChannelsTouchedBy,
  keepPastChannels,
  putChannels,
  type StoredChannel,
} from './channel-rows.store.ts'
import { namesOf } from '../../../shared/channels/channel.evolve.ts'
import { foldChannels, nameOf, type Linked } from './fold-channels.store.ts'
import {
  getLoansFor,
  getLoanSides,
  getLoansNaming,
  putFilecoinSides,
  type StoredLoanSide,
} from './loan-sides.store.ts'
import { compareRights, isGivenUp } from './rightful-channel.evolve.ts'

/**
 * The Filecoin side of every loan: channels folded from the log, their links, lookup parts and history records. After
 * each step the result depends only on the current channels and loans, not on their order of arrival. Unchanged rows
 * keep their ids and times.
 */
export const channelsProjection: Projection = {
  name: 'channels',
  apply: async (context, segment) => {
    const first = segment[0]
    const own = segment.filter(isAboutChannel)
    if (first === undefined || (own.length === 0 && context.counters.channels === 0)) return
    const folded = await foldChannels(context, own)
    // Must precede the queries below, which read the channels of each loan.
    await deleteChannels(
      context,
      folded.gone.map(({ stored }) => stored),
    )
    const loans = loanSubjects(segment)
    const naming = await getLoansNaming(context, folded.renamed)
    const touched = await getChannelsTouchedBy(context, unique([...loans, ...naming]), CLOCK_TOLERANCE_S)
    const relinked = await relink(context, merge(folded.held, touched), folded.changed)
    if (relinked.length === 0 && folded.gone.length === 0) return
    const concerned = unique([
      ...loans,
      ...relinked.flatMap(oldAndNewLoans),
      ...folded.gone.flatMap(oldAndNewLoans),
    ])
    const sides = new Map((await getLoanSides(context, concerned)).map((side) => [side.subject, side]))
    const others = (await getChannelsOf(context, concerned)).map((stored) => ({ stored, link: stored.link }))
    const all = merge(relinked, others)
    context.counters.channels += folded.held.filter(({ isNew }) => isNew === true).length - folded.gone.length
    const rightful = rightfulOf(all, sides)
    await show(context, all, rightful, sides, first.recordedAt)
    const outdone = outdoneOf(all, rightful)
    const histories = [
      ...all.map((linked) => (outdone.has(linked) ? nothingOf(linked) : historyOf(linked, sides))),
      ...folded.gone.map(nothingOf),
    ]
    await putChannelHistories(context, histories, first.recordedAt, idsOf(segment))
  },
}

/** Decides anew which loans these channels belong to. */
async function relink(context: FoldContext, channels: Linked[], changed: Set<string>): Promise<Linked[]> {
  const candidates = await getLoansFor(
    context,
    channels.map(({ stored }) => stored.channel),
    CLOCK_TOLERANCE_S,
  )
  const facts = candidates.map((candidate) => candidate.facts)
  const loans = indexLoans(facts)
  const named = await getNamed(context, channels, facts)
  return channels.flatMap((linked) => {
    const { link, claimants } = linkChannel(linked.stored.channel, loans, named)
    const isSame = sameLink(link, linked.stored.link) && claimants.join() === linked.stored.claimants.join()
    // The loan behind an unchanged link may itself have changed, so only unlinked channels are skipped.
    return isSame && link === null && !changed.has(nameOf(linked.stored))
      ? []
      : [{ ...linked, link, claimants }]
  })
}

/**
 * The channels that these loans name, from `channels` (which may be newer than stored) and from all other stored ones.
 */
async function getNamed(
  context: FoldContext,
  channels: Linked[],
  loans: LoanFacts[],
): Promise<NamedChannels> {
  const wanted = new Set(loans.flatMap(({ namedChannel }) => namedChannel ?? []))
  const own = new Set(channels.map(({ stored }) => nameOf(stored)))
  const others = (await getChannelsNamed(context, [...wanted])).filter((stored) => !own.has(nameOf(stored)))
  const all = [
    ...channels.map(({ stored: { channel } }) => ({ ...channel, addresses: addressesOf(channel) })),
    ...others,
  ]
  const pairs = all.flatMap(({ addresses, from, recipient }) => {
    const isWanted = addresses.filter((address) => wanted.has(address))
    if (isWanted.length === 0) return []
    const parties = { from: namesOf(from), recipient: namesOf(recipient) }
    return isWanted.map((address) => ({ address, parties }))
  })
  const byAddress = groupBy(pairs, ({ address }) => address)
  return new Map([...byAddress].map(([address, found]) => [address, found.map(({ parties }) => parties)]))
}

/** The one channel that a lookup shows for each place: a role of a loan. */
function rightfulOf(all: Linked[], sides: Map<string, StoredLoanSide>): Set<Linked> {
  const claimed = all.flatMap((linked) => {
    const { stored, link } = linked
    return link === null ? [] : [{ linked, channel: stored.channel, link }]
  })
  const places = groupBy(claimed, ({ link }) => placeOf(link))
  return new Set(
    [...places.values()].flatMap((rivals) => {
      const [first] = rivals
      const loan = first && sides.get(subjectOfLink(first.link))?.facts
      const [rightful] = rivals.length === 1 ? rivals : rivals.sort((a, b) => compareRights(a, b, loan))
      return rightful === undefined ? [] : [rightful.linked]
    }),
  )
}

/** Writes the channels whose part, link, claimants or `shown` flag changed. */
async function show(
  context: FoldContext,
  all: Linked[],
  shown: Set<Linked>,
  sides: Map<string, StoredLoanSide>,
  at: Date,
): Promise<void> {
  const past: StoredChannel[] = []
  const changes = all.flatMap((linked): StoredChannel[] => {
    const { stored, link } = linked
    const side = link === null ? undefined : sides.get(subjectOfLink(link))
    const part =
      link === null || side === undefined
        ? null
        : partOf(link.role, stored.channel, side, networkIdOf(stored.network)).part
    const saysOther = JSON.stringify(part) !== JSON.stringify(stored.part)
    const next = {
      ...stored,
      link,
      claimants: linked.claimants ?? stored.claimants,
      shown: shown.has(linked),
      part,
    }
    const isOther = saysOther || next.shown !== stored.shown || !sameLink(link, stored.link)
    if (isOther) past.push(stored)
    const since = isOther ? context.position : stored.since
    return isOther || linked.claimants !== undefined
      ? [{ ...next, updatedAt: saysOther ? at : stored.updatedAt, since }]
      : []
  })
  await keepPastChannels(context, past)
  await putChannels(context, changes)
  await putSides(context, [...shown], sides, at)
}

/**
 * Channels linked only by their parties, where another channel has a stronger link to the same place. The loan is not
 * theirs, unless the other channel was given up and theirs is shown. A reorg that removes a contract's event leaves
 * such channels behind.
 */
function outdoneOf(all: Linked[], rightful: Set<Linked>): Set<Linked> {
  const isStrong = ({ link }: Linked): boolean => link !== null && link.strength > STRENGTH.parties
  const taken = new Set(all.filter(isStrong).flatMap(({ link }) => (link === null ? [] : [placeOf(link)])))
  return new Set(
    all.filter((one) => {
      const { link } = one
      return link !== null && !isStrong(one) && taken.has(placeOf(link)) && !rightful.has(one)
    }),
  )
}

/**
 * The state is '0.5' if the Filecoin side is ahead of the contract and was not given up: protocol.md section 7. The party
 * is the maker of the first channel, whom the contract names only once the other side agrees.
 */
async function putSides(
  context: FoldContext,
  shown: Linked[],
  sides: Map<string, StoredLoanSide>,
  at: Date,
): Promise<void> {
  const ahead = new Set(
    shown.flatMap(({ stored, link }) => {
      const side = link === null ? undefined : sides.get(subjectOfLink(link))
      if (link === null || side === undefined || side.state !== '0' || isGivenUp(stored.channel)) return []
      const isAhead =
        link.role === 'principal' ||
        (link.role === 'collateral' &&
          vouchersFor('seize', 'collateral', stored.channel, side.facts).length > 0)
      return isAhead ? [side.subject] : []
    }),
  )
  const partyOf = new Map(
    shown.flatMap(({ stored, link }) => {
      if (link === null || link.role === 'payback') return []
      const { facts } = sides.get(subjectOfLink(link)) ?? {}
      const named = link.role === 'collateral' ? facts?.borrower : facts?.lender
      return named === null ? [[subjectOfLink(link), nameIn(stored.channel.from)] as const] : []
    }),
  )
  const seizedOf = new Map(
    shown.flatMap(({ stored, link }) => {
      const seizedS = link?.role === 'collateral' ? seizedAtS(stored.channel) : null
      return link === null || seizedS === null ? [] : [[subjectOfLink(link), seizedS] as const]
    }),
  )
  const changed = [...sides.values()].flatMap((loan) => {
    const side = {
      derivedState: ahead.has(loan.subject) ? '0.5' : null,
      channelParty: partyOf.get(loan.subject) ?? null,
      seizedS: seizedOf.get(loan.subject) ?? null,
    }
    const isSame =
      side.derivedState === loan.derivedState &&
      side.channelParty === loan.channelParty &&
      side.seizedS === loan.seizedS
    return isSame ? [] : [{ loan, side }]
  })
  await putFilecoinSides(context, changed, at)
}

/** One canonical name of an identity; readers know the others from the channel. */
function nameIn(identity: FilecoinIdentity): string | null {
  return canonicalAddress(identity.robust[0] ?? identity.asWritten)
}

function historyOf({ stored, link }: Linked, sides: Map<string, StoredLoanSide>): ChannelHistory {
  const side = link === null ? undefined : sides.get(subjectOfLink(link))
  const records = link === null || side === undefined ? [] : recordsOf(stored.channel, link, side.facts)
  return { network: stored.network, robust: stored.robust, records }
}

function nothingOf({ stored: { network, robust } }: Linked): ChannelHistory {
  return { network, robust, records: [] }
}

/**
 * Offsets within an entry's ids: records known before and visible only now, then its voucher, then the entry itself.
 */
const IDS = { knownBefore: 1, voucher: IDS_PER_ENTRY * 0.5, own: IDS_PER_ENTRY * 0.75 } as const

/** Start id of each record that becomes visible: at the entry that holds it, or at the segment's last entry. */
function idsOf(segment: LogEntry[]): (record: ChannelRecord) => number {
  const starts = new Map<string, number>()
  for (const { event, position } of segment) {
    if (event === null || isEvmEvent(event)) continue
    starts.set(naturalKey(event), position * IDS_PER_ENTRY + IDS.own)
    if (event.kind === 'UpdateChannel' || event.kind === 'SignedVoucher') {
      // The sign record comes first, because a voucher is signed before it is redeemed.
      const key = `sign/${event.channel ?? ''}/${event.voucher.key}`
      if (!starts.has(key)) starts.set(key, position * IDS_PER_ENTRY + IDS.voucher)
    }
  }
  const last = segment.at(-1)?.position ?? 0
  return (record) => {
    const { naturalKey: whole } = record
    const key = whole.startsWith('sign/') ? whole.slice(0, whole.lastIndexOf('/')) : whole
    return starts.get(key) ?? last * IDS_PER_ENTRY + IDS.knownBefore
  }
}

function loanSubjects(segment: LogEntry[]): string[] {
  return unique(segment.filter((entry) => !isAboutChannel(entry)).flatMap(subjectsOf))
}

function oldAndNewLoans({ stored, link }: Linked): string[] {
  return [stored.link, link].flatMap((one) => (one === null ? [] : [subjectOfLink(one)]))
}

/** The first list takes precedence for channels in both. Sorting by age makes ids follow from the log alone. */
function merge(channels: Linked[], others: (Linked | StoredChannel)[]): Linked[] {
  const known = new Set(channels.map(({ stored }) => nameOf(stored)))
  const rest = others.map((other) => ('stored' in other ? other : { stored: other, link: other.link }))
  return [...channels, ...rest.filter(({ stored }) => !known.has(nameOf(stored)))].sort(byAge)
}

function byAge({ stored: a }: Linked, { stored: b }: Linked): number {
  return a.id - b.id
}

function placeOf(link: Link): string {
  return `${subjectOfLink(link)}/${link.role}`
}

function subjectOfLink({ loanType, loanId }: Link): string {
  return `${loanType}/${loanId}`
}

function sameLink(a: Link | null, b: Link | null): boolean {
  if (a === null || b === null) return a === b
  return a.loanType === b.loanType && a.loanId === b.loanId && a.role === b.role && a.strength === b.strength
}

function unique(values: string[]): string[] {
  return [...new Set(values)]
}
