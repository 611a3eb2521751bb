import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'

/** The schema that queries read, and the one that `replay` builds beside it. */
export const LIVE_SCHEMA = 'projection'
export const NEXT_SCHEMA = 'projection_next'
export type ProjectionSchema = typeof LIVE_SCHEMA | typeof NEXT_SCHEMA

export interface FoldCounters {
  records: number
  /** While there is no payment channel, an EVM event needs no linking. */
  channels: number
}

export interface FoldContext {
  trx: Trx
  schema: ProjectionSchema
  counters: FoldCounters
  /** The segment's last position: its rows say since when they hold, and until when others did. */
  position: number
  /** The entries that hold for these subjects as of the last entry of the current segment. */
  heldEntriesOf: (subjects: string[]) => Promise<HeldEntry[]>
}

/**
 * A record's id is this times the position of the entry that made it visible, plus a smaller offset. One entry can make
 * many records of a channel visible. The id follows from that entry alone.
 */
export const IDS_PER_ENTRY = 1_000_000

/**
 * One read model. Ids follow from the log alone, so that a replay reproduces them. `apply` folds one segment: appends
 * alone, or one whole step. The rows must not depend on how the log is cut into segments, because a replay cuts it
 * elsewhere.
 */
export interface Projection {
  name: string
  apply: (context: FoldContext, segment: LogEntry[]) => Promise<void>
}
