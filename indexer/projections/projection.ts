import type { LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'

/** The schema that is read, and the one that `replay` builds beside it. */
export const LIVE_SCHEMA = 'projection'
export const NEXT_SCHEMA = 'projection_next'
export type ProjectionSchema = typeof LIVE_SCHEMA | typeof NEXT_SCHEMA

export interface FoldCounters {
  /** The number of records, which is also the last one's dense position. */
  records: number
  /** The id of the newest record that there ever was. */
  lastId: number
  /** The number of payment channels: while there is none, nothing on an EVM chain has to be tied to one. */
  channels: number
}

export interface FoldContext {
  trx: Trx
  schema: ProjectionSchema
  counters: FoldCounters
  /** What the log holds of these subjects as of the last entry of the segment that is being folded. */
  heldEntriesOf: (subjects: string[]) => Promise<LogEntry[]>
}

/**
 * One read model. Ids follow from the log alone, so that a replay gives the same again. `apply` folds a segment of the
 * log: either appends alone, or one whole step. It must come to the same rows however the log is cut into segments,
 * for a replay cuts it elsewhere.
 */
export interface Projection {
  name: string
  apply: (context: FoldContext, segment: LogEntry[]) => Promise<void>
}
