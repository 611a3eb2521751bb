import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { naturalKey, subjectOf } from '../../shared/events/natural-key.ts'

/** An entry that holds now. */
export interface LiveEntry extends Pick<
  NewEntry,
  'naturalKey' | 'revision' | 'subject' | 'kind' | 'blockNumber' | 'blockHash' | 'logIndex'
> {
  /** The event it holds; null, for it may be long, where none of the new events is of its block: then it is another one. */
  event: ChainEvent | null
}

/** Why entries are replaced or retracted: the chain left a branch, or a second reading found otherwise. */
export type Cause = 'reorg' | 'reindex'

/**
 * What to append to the log so that `events` hold in place of `live`: the difference and nothing else, so that an
 * event in both keeps its entry's history (and with it the record's id). Retractions first, newest first; then
 * what is new or changed, in chain order. A live entry outside the scope of `events` must not be among `live`,
 * except under the natural key of one of them.
 */
export function planEntries(
  network: { network: string; blockchain: string },
  live: LiveEntry[],
  events: ChainEvent[],
  cause: Cause | null,
): NewEntry[] {
  const liveByKey = new Map(live.map((entry) => [entry.naturalKey, entry]))
  const eventByKey = new Map(events.map((event) => [naturalKey(event), event]))
  const retractions = live
    .filter((entry) => !eventByKey.has(entry.naturalKey))
    .sort((a, b) => compareByChain(b, a))
    .map((entry): NewEntry => {
      const retraction = { op: 'retract', revision: entry.revision + 1, cause, event: null } as const
      return { ...network, ...entry, previousSubject: null, ...retraction }
    })
  const additions = [...eventByKey].flatMap(([key, event]): NewEntry[] => {
    const entry = describe(network, key, event)
    const before = liveByKey.get(key)
    // The usual case by far: the object that is there is the entry.
    if (before === undefined) return [entry]
    if (saysTheSame(before, event)) return []
    const previousSubject = before.subject === entry.subject ? null : before.subject
    return [{ ...entry, op: 'replace', revision: before.revision + 1, previousSubject, cause }]
  })
  return [...retractions, ...additions]
}

type PlaceInChain = Pick<ChainEvent, 'blockNumber' | 'logIndex'>

/** The order of one network's events. */
export function compareByChain(a: PlaceInChain, b: PlaceInChain): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex
}

/** The entry that appends it; an entry of revision 0 gets the next one of its natural key. */
function describe(
  { network, blockchain }: { network: string; blockchain: string },
  naturalKey: string,
  event: ChainEvent,
): NewEntry & { op: 'append' } {
  return {
    network,
    blockchain,
    naturalKey,
    revision: 0,
    subject: subjectOf(event, network),
    previousSubject: null,
    kind: event.kind,
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    logIndex: event.logIndex,
    cause: null,
    op: 'append',
    event,
  }
}

/** In another branch nothing is the same: then only the blocks' hashes are looked at. */
function saysTheSame(entry: LiveEntry, event: ChainEvent): boolean {
  if (entry.blockHash !== event.blockHash) return false
  if (entry.event === null) throw new Error(`what entry ${entry.naturalKey} holds was not read`)
  return canonicalJson(entry.event) === canonicalJson(event)
}

/** JSON with sorted keys: the database gives an object's keys back in an order of its own. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
