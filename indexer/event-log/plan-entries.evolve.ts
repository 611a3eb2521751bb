import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { compareByChain } from '../../shared/events/event-place.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { naturalKey, subjectOf } from '../../shared/events/natural-key.ts'
import { withKnown } from './keep-known.evolve.ts'

/** The newest entry of a natural key: what holds, or that nothing does. */
export interface LastEntry extends Pick<
  NewEntry,
  'op' | 'naturalKey' | 'revision' | 'subject' | 'kind' | 'blockNumber' | 'blockHash' | 'logIndex'
> {
  /** The position of the entry that appended it. */
  origin: number
  /** The event it holds; null, for it may be long, where none of the new events is of its block: then it is another one. */
  event: ChainEvent | null
}

/** Why entries are replaced or retracted: the chain left a branch, or a second reading found otherwise. */
export type Cause = 'reorg' | 'reindex'

/**
 * What to append to the log so that `events` hold in place of what holds by `last`: the difference and nothing else, so
 * that an event in both keeps its entry's history (and with it the record's id). Retractions first, newest first; then
 * what is new or changed, in chain order. `last` has the newest entry of each event's natural key, if there is one, and
 * of all keys that hold in the scope of `events`; what holds elsewhere must not be among it. A second reading of the same
 * block does not replace what is known by what no node can say any more.
 */
export function planEntries(
  network: { network: string; blockchain: string },
  last: LastEntry[],
  events: ChainEvent[],
  cause: Cause | null,
): NewEntry[] {
  const lastByKey = new Map(last.map((entry) => [entry.naturalKey, entry]))
  const eventByKey = new Map(events.map((event) => [naturalKey(event), event]))
  const retractions = last
    .filter((entry) => entry.op !== 'retract' && !eventByKey.has(entry.naturalKey))
    .sort((a, b) => compareByChain(b, a))
    .map((entry) => retractionOf(network, entry, cause))
  const additions: NewEntry[] = []
  // No `flatMap`: node 20 takes many times as long for one as for this.
  for (const [key, read] of eventByKey) {
    const before = lastByKey.get(key)
    const event = before === undefined ? read : keptIn(before, read)
    const entry = describe(network, key, (before?.revision ?? 0) + 1, event)
    if (before === undefined || before.op === 'retract') {
      // The usual case by far: the object that is there is the entry.
      additions.push(entry)
    } else if (!saysTheSame(before, event)) {
      const previousSubject = before.subject === entry.subject ? null : before.subject
      additions.push({ ...entry, op: 'replace', origin: before.origin, previousSubject, cause })
    }
  }
  return [...retractions, ...additions]
}

/** Name by name: of rows from the database node 20 takes some forty times as long to copy what they have (docs/performance.md). */
function retractionOf(
  { network, blockchain }: { network: string; blockchain: string },
  { naturalKey, revision, subject, kind, blockNumber, blockHash, logIndex, origin }: LastEntry,
  cause: Cause | null,
): NewEntry {
  return {
    network,
    blockchain,
    naturalKey,
    revision: revision + 1,
    subject,
    previousSubject: null,
    kind,
    blockNumber,
    blockHash,
    logIndex,
    cause,
    op: 'retract',
    origin,
    event: null,
  }
}

/** The entry that appends it. */
function describe(
  { network, blockchain }: { network: string; blockchain: string },
  naturalKey: string,
  revision: number,
  event: ChainEvent,
): NewEntry & { op: 'append' } {
  return {
    network,
    blockchain,
    naturalKey,
    revision,
    subject: subjectOf(event, network),
    previousSubject: null,
    kind: event.kind,
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    logIndex: event.logIndex,
    cause: null,
    op: 'append',
    origin: null,
    event,
  }
}

/** How many of `events` lack something that the log knows of the same block: nobody can compare that. */
export function countUnread(last: LastEntry[], events: ChainEvent[]): number {
  const lastByKey = new Map(last.map((entry) => [entry.naturalKey, entry]))
  return events.filter((event) => {
    const before = lastByKey.get(naturalKey(event))
    return before !== undefined && keptIn(before, event) !== event
  }).length
}

function keptIn(before: LastEntry, event: ChainEvent): ChainEvent {
  const isSameBlock = before.op !== 'retract' && before.blockHash === event.blockHash
  return isSameBlock && before.event !== null ? withKnown(before.event, event) : event
}

/** In another branch nothing is the same: then only the blocks' hashes are looked at. */
function saysTheSame(entry: LastEntry, event: ChainEvent): boolean {
  if (entry.blockHash !== event.blockHash) return false
  if (entry.event === null) throw new Error(`what entry ${entry.naturalKey} holds was not read`)
  return canonicalJson(entry.event) === canonicalJson(event)
}

/** JSON with sorted keys: `jsonb`, which all bodies once were, gives an object's keys back in an order of its own. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
