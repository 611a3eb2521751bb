import { canonicalJson } from '../../shared/canonical-json.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { compareByChain } from '../../shared/events/event-place.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { naturalKey, subjectOf } from '../../shared/events/natural-key.ts'
import { withKnown } from './keep-known.evolve.ts'

/** The newest entry of a natural key; a retraction means that nothing holds. */
export interface LastEntry extends Pick<
  NewEntry,
  'op' | 'naturalKey' | 'revision' | 'subject' | 'kind' | 'blockNumber' | 'blockHash' | 'logIndex'
> {
  /** Position of the entry that appended it. */
  origin: number
  /** The stored event. Null if none of the new events is from its block: it may be long, and it differs in any case. */
  event: ChainEvent | null
}

/** The reason for replacing or retracting entries: the chain left a fork, or a second reading differed. */
export type Cause = 'reorg' | 'reindex'

/**
 * Plans the entries that make `events` hold instead of `last`. Only differences are planned, so an event in both keeps
 * its entry's history and record id. Retractions come first, newest first; then new and changed events, in chain order.
 * `last` must have the newest entry of each event's natural key, and of all keys that hold in the scope. Entries that
 * hold elsewhere must not be in it. A second reading of the same block does not erase values that no node has any more.
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
  // A loop: `flatMap` is many times slower on Node 20.
  for (const [key, read] of eventByKey) {
    const before = lastByKey.get(key)
    const event = before === undefined ? read : keptIn(before, read)
    const entry = describe(network, key, (before?.revision ?? 0) + 1, event)
    if (before === undefined || before.op === 'retract') {
      // This is by far the usual case, so the object is used without a copy.
      additions.push(entry)
    } else if (!saysTheSame(before, event)) {
      const previousSubject = before.subject === entry.subject ? null : before.subject
      additions.push({ ...entry, op: 'replace', origin: before.origin, previousSubject, cause })
    }
  }
  return [...retractions, ...additions]
}

/** Lists every field: copying a database row is some forty times slower on Node 20 (docs/performance.md). */
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

/** Counts the events that lack a value which the log has for the same block; these cannot be compared. */
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

/** Events of different forks always differ, so their bodies need no comparison. */
function saysTheSame(entry: LastEntry, event: ChainEvent): boolean {
  if (entry.blockHash !== event.blockHash) return false
  if (entry.event === null) throw new Error(`what entry ${entry.naturalKey} holds was not read`)
  return canonicalJson(entry.event) === canonicalJson(event)
}
