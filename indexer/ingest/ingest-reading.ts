import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, RangeEvidence } from '../../shared/events/chain-step.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { getHeaders, lockPosition, putEvidence, type ChainPosition } from '../event-log/chain-position.ts'
import { putProgress } from '../event-log/operations.ts'
import { countUnread, planEntries } from '../event-log/plan-entries.evolve.ts'
import { getLastEntries } from '../event-log/read-log.ts'
import type { KnownChannel } from './channel-messages.evolve.ts'
import { concerning, replaceEvents, type NetworkIdentity } from './ingest-step.ts'

/** Blocks that were written before and read again, from `from` up to and including `last`. */
export interface SecondReading {
  from: number
  last: BlockRef
  /** Of the blocks that are not final yet. */
  headers: BlockHeader[]
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/** How many entries a second reading added, changed and took back. */
export interface Corrections {
  appended: number
  replaced: number
  retracted: number
}

/**
 * Appends what a second reading found otherwise than the log says, and notes in the same transaction how far the
 * operation is. Undefined when these blocks are not (or no longer) the ones that are written: read them again.
 */
export function ingestReading(
  db: Db,
  identity: NetworkIdentity,
  operation: string,
  reading: SecondReading,
): Promise<Corrections | undefined> {
  return inTransaction(db, async (trx) => {
    const position = await lockPosition(trx, identity.network)
    if (!(await isWritten(trx, identity.network, position, reading))) return undefined
    const blocks = { from: reading.from, to: reading.last.number }
    const corrections = await replaceEvents(trx, identity, blocks, reading.events, 'reindex')
    await putEvidence(trx, identity.network, reading.evidence)
    await putProgress(trx, operation, reading.last.number + 1)
    return corrections
  })
}

/** A second reading against the log. */
export interface Comparison {
  differences: NewEntry[]
  /** Entries of which the log knows what no node says any more: that part is not compared. */
  unread: number
}

/**
 * What a second reading would change, without changing it. `made` are the channels that were read before these blocks,
 * whether the log has them or not.
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
  position: ChainPosition | undefined,
  { last, headers }: SecondReading,
): Promise<boolean> {
  if (position?.block == null || last.number > position.block.number) return false
  const known = [...(await getHeaders(trx, network)), position.block]
  // Of final blocks the newest alone is remembered: that the others lead up to it is known since they were read.
  if (position.finalized !== null) known.push(position.finalized)
  const ours = new Map(known.map(({ number, hash }) => [number, hash]))
  return [last, ...headers].every(({ number, hash }) => (ours.get(number) ?? hash) === hash)
}
