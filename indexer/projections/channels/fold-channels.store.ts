import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { groupBy } from '../../../shared/group-by.ts'
import type { Link } from '../links/link.evolve.ts'
import type { FoldContext } from '../projection.ts'
import { groupBySubject } from '../segments.evolve.ts'
import { addressesOf, getChannels, type ChannelKey, type StoredChannel } from './channel-rows.store.ts'
import {
  continuesChannel,
  evolveChannel,
  foldChannel,
  namesOf,
  type Channel,
} from '../../../shared/channels/channel.evolve.ts'

/** A channel with its new link; `stored.link` is the previous one. */
export interface Linked {
  stored: StoredChannel
  link: Link | null
  claimants?: string[]
  isNew?: boolean
}

export interface Folded {
  held: Linked[]
  /** Channels whose creation was retracted. */
  gone: Linked[]
  /** Keys (see {@link nameOf}) of the channels whose entries changed. */
  changed: Set<string>
  /**
   * Addresses that gained or lost a channel, or whose channel's parties changed. Contracts that name them are evaluated
   * again.
   */
  renamed: string[]
}

/**
 * Folds the channels of these entries onto the stored rows where the entries continue them, else from all entries in
 * the log.
 */
export async function foldChannels(context: FoldContext, entries: LogEntry[]): Promise<Folded> {
  const folded: Folded = { held: [], gone: [], changed: new Set(), renamed: [] }
  const entriesOf = groupBySubject(entries)
  const subjects = [...entriesOf.keys()]
  if (subjects.length === 0) return folded
  const rows = await getChannels(context, subjects.map(keyOfSubject))
  const stored = new Map(rows.map((row) => [nameOf(row), row]))
  const isContinued = (subject: string): boolean => {
    const before = stored.get(nameOf(keyOfSubject(subject)))
    return before !== undefined && continuesChannel(before.channel, entriesOf.get(subject) ?? [])
  }
  const anew = new Set(subjects.filter((subject) => !isContinued(subject)))
  const held = anew.size === 0 ? [] : await context.heldEntriesOf([...anew])
  const heldOf = groupBy(held, ({ subject }) => subject)
  for (const [subject, own] of entriesOf) {
    const key = keyOfSubject(subject)
    const before = stored.get(nameOf(key))
    const channel = anew.has(subject)
      ? foldChannel(heldOf.get(subject) ?? [])
      : own.reduce<Channel | undefined>(evolveChannel, before?.channel)
    if (channel !== undefined) {
      const isNew = before === undefined
      folded.held.push({ stored: { ...(before ?? unknownChannel(key, own)), channel }, link: null, isNew })
    } else if (before !== undefined) {
      folded.gone.push({ stored: before, link: null })
    }
    folded.changed.add(nameOf(key))
    if (!hasSameNames(before?.channel, channel))
      folded.renamed.push(
        ...[before?.channel, channel].flatMap((one) => (one === undefined ? [] : addressesOf(one))),
      )
  }
  return folded
}

/** Whether both have the same addresses and parties. */
function hasSameNames(a: Channel | undefined, b: Channel | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const names = ({ robust, channelId, from, recipient }: Channel): string =>
    JSON.stringify([robust, channelId, namesOf(from), namesOf(recipient)])
  return names(a) === names(b)
}

function unknownChannel(key: ChannelKey, [first]: LogEntry[]): Omit<StoredChannel, 'channel'> {
  if (first === undefined) throw new Error(`no entry is about channel ${key.robust}`)
  const { position, recordedAt } = first
  return {
    ...key,
    id: position,
    link: null,
    claimants: [],
    shown: false,
    part: null,
    createdAt: recordedAt,
    updatedAt: recordedAt,
    since: position,
  }
}

/** The subject is `channel/<network id>/<robust address>`, for chain entries and handed-in ones alike. */
function keyOfSubject(subject: string): ChannelKey {
  const [, networkId = '', robust = ''] = subject.split('/')
  return { network: `filecoin:${networkId}`, robust }
}

export function nameOf({ network, robust }: ChannelKey): string {
  return `${network}/${robust}`
}
