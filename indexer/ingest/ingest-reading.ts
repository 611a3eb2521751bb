import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, RangeEvidence } from '../../shared/events/chain-step.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import {
  forgetProvenState,
  getHeaders,
  lockPosition,
  type ChainPosition,
} from '../event-log/chain-position.ts'
import { putEvidence } from '../event-log/range-evidence.store.ts'
import { putProgress } from '../event-log/operations.ts'
import { countUnread, planEntries } from '../event-log/plan-entries.evolve.ts'
import { getLastEntries } from '../event-log/read-log.ts'
import type { KnownChannel } from './channel-messages.evolve.ts'
import { concerning, replaceEvents, type NetworkIdentity } from './ingest-step.ts'

/** Blocks that were written before and read again, from `from` to `last` (inclusive). */
export interface SecondReading {
  from: number
  last: BlockRef
  /** Headers of the blocks that are not final yet. */
  headers: BlockHeader[]
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/** Numbers of entries that a second reading added, changed and retracted. */
export interface Corrections {
  appended: number
  replaced: number
  retracted: number
}

/**
 * Appends the differences between a second reading and the log, and stores the operation's progress, if it keeps one, in
 * the same transaction. Returns undefined if these blocks are not (or no longer) the written ones: they must be read
 * again. Nothing is written either while `isFit` is false of the position.
 */
export function ingestReading(
  db: Db,
  identity: NetworkIdentity,
  operation: string | null,
  reading: SecondReading,
  isFit: (position: ChainPosition) => boolean = () => true,
): Promise<Corrections | undefined> {
  return inTransaction(db, async (trx) => {
    const position = await lockPosition(trx, identity.network)
    if (position === undefined || !isFit(position)) return undefined
    if (!(await isWritten(trx, identity.network, position, reading))) return undefined
    const blocks = { from: reading.from, to: reading.last.number }
    const corrections = await replaceEvents(
      trx,
      identity,
      blocks,
      reading.events,
      'reindex',
      reading.evidence,
    )
    const changed = corrections.appended + corrections.replaced + corrections.retracted
    if (changed > 0) await forgetProvenState(trx, identity.network, reading.from - 1)
    await putEvidence(trx, identity.network, reading.evidence)
    if (operation !== null) await putProgress(trx, operation, reading.last.number + 1)
    return corrections
  })
}

/** A second reading compared with the log. */
export interface Comparison {
  differences: NewEntry[]
  /** Number of entries with a value that no node has any more; that value is not compared. */
  unread: number
}

/**
 * Plans the corrections of a second reading without writing them. `made` are the channels read before these blocks,
 * whether in the log or not.
 */
export async function compareReading(
  db: Db,
  identity: NetworkIdentity,
  reading: SecondReading,
  made: KnownChannel[],
): Promise<Comparison> {
  const events = await concerning(db, identity.network, reading.from, reading.events, made)
  const scope = { from: reading.from, to: reading.last.number, events }
  const last = await getLastEntries(db, identity.network, scope)
  return {
    differences: planEntries(identity, last, events, 'reindex'),
    unread: countUnread(last, events),
  }
}

async function isWritten(
  trx: Trx,
  network: string,
  position: ChainPosition,
  { last, headers }: SecondReading,
): Promise<boolean> {
  if (position.block === null || last.number > position.block.number) return false
  const known = [...(await getHeaders(trx, network)), position.block]
  // Only the newest final block is stored; it was verified to follow the older ones when they were read.
  if (position.finalized !== null) known.push(position.finalized)
  const ours = new Map(known.map(({ number, hash }) => [number, hash]))
  return [last, ...headers].every(({ number, hash }) => (ours.get(number) ?? hash) === hash)
}
