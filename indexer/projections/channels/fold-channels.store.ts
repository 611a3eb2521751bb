import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { groupBy } from '../../../shared/group-by.ts'
import type { Link } from '../links/link.evolve.ts'
import type { FoldContext } from '../projection.ts'
import { addressesOf, getChannels, type ChannelKey, type StoredChannel } from './channel-rows.store.ts'
import { continuesChannel, evolveChannel, foldChannel, namesOf, type Channel } from './channel.evolve.ts'

/** A channel with the link that it is to have; `stored.link` is the one that it had. */
export interface Linked {
  stored: StoredChannel
  link: Link | null
  claimants?: string[]
  isNew?: boolean
}

export interface Folded {
  held: Linked[]
  /** Channels whose creation holds no longer. */
  gone: Linked[]
  /** Channels whose entries changed, by key. */
  changed: Set<string>
  /** Addresses that named no channel before, or name none now, or one of other parties: what contracts say of them counts anew. */
  renamed: string[]
}

/**
 * Folds the channels that these entries are about: onto what is stored where the entries continue it, from all that the
 * log holds otherwise.
 */
export async function foldChannels(context: FoldContext, entries: LogEntry[]): Promise<Folded> {
  const folded: Folded = { held: [], gone: [], changed: new Set(), renamed: [] }
  const subjects = [...new Set(entries.flatMap(subjectsOf))]
  if (subjects.length === 0) return folded
  const rows = await getChannels(context, subjects.map(keyOfSubject))
  const stored = new Map(rows.map((row) => [nameOf(row), row]))
  const entriesOf = new Map<string, LogEntry[]>()
  for (const entry of entries) {
    for (const subject of subjectsOf(entry)) {
      const own = entriesOf.get(subject)
      if (own === undefined) entriesOf.set(subject, [entry])
      else own.push(entry)
    }
  }
  const isContinued = (subject: string): boolean => {
    const before = stored.get(nameOf(keyOfSubject(subject)))
    return before !== undefined && continuesChannel(before.channel, entriesOf.get(subject) ?? [])
  }
  const anew = new Set(subjects.filter((subject) => !isContinued(subject)))
  const held = anew.size === 0 ? [] : await context.heldEntriesOf([...anew])
  const heldOf = groupBy(held, ({ subject }) => subject)
  for (const subject of subjects) {
    const key = keyOfSubject(subject)
    const own = entriesOf.get(subject) ?? []
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

/** Whether it is named alike, as are its parties. */
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
  }
}

/** What an entry is about, and what it was about before. */
export function subjectsOf({ subject, previousSubject }: LogEntry): string[] {
  return [subject, previousSubject].filter((one) => one !== null)
}

/** `channel/<network id>/<robust address>`, whether the entry is of the chain or was handed in beside it. */
function keyOfSubject(subject: string): ChannelKey {
  const [, networkId = '', robust = ''] = subject.split('/')
  return { network: `filecoin:${networkId}`, robust }
}

export function nameOf({ network, robust }: ChannelKey): string {
  return `${network}/${robust}`
}
