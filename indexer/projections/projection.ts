import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'

/** The schema that is read, and the one that `replay` builds beside it. */
export const LIVE_SCHEMA = 'projection'
export const NEXT_SCHEMA = 'projection_next'
export type ProjectionSchema = typeof LIVE_SCHEMA | typeof NEXT_SCHEMA

export interface FoldCounters {
  /** The number of records. */
  records: number
  /** The number of payment channels: while there is none, nothing on an EVM chain has to be tied to one. */
  channels: number
}

export interface FoldContext {
  trx: Trx
  schema: ProjectionSchema
  counters: FoldCounters
  /** What the log holds of these subjects as of the last entry of the segment that is being folded. */
  heldEntriesOf: (subjects: string[]) => Promise<HeldEntry[]>
}

/**
 * A record's id is the position in the log of the entry that made it visible, times this, plus a number below it: one
 * entry can make many records of a channel visible. It follows from that entry alone, whatever else is in the log.
 */
export const IDS_PER_ENTRY = 1_000_000

/**
 * One read model. Ids follow from the log alone, so that a replay gives the same again. `apply` folds a segment of the
 * log: either appends alone, or one whole step. It must come to the same rows however the log is cut into segments,
 * for a replay cuts it elsewhere.
 */
export interface Projection {
  name: string
  apply: (context: FoldContext, segment: LogEntry[]) => Promise<void>
}
