import {
  RECORD_EVENTS,
  recordEventsOf,
  valuesOf,
  type RecordEventsRow,
} from '../../shared/db/record-events.ts'
import type { Cursor, RecordEvent } from '../../shared/events/record-event.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

/** The last final block of a network. */
export interface Finality {
  network: string
  networkId: string
  block: number
  hash: string | null
  /** Each record of this network with a smaller id is final. */
  recordsBefore: number
}

/** The last log position that is folded into the history, and what is final there. */
export interface StreamState {
  head: number
  /** The final blocks as text: another one means other blocks. */
  finalized: string
}

/** The ids of records per log entry. */
const IDS_PER_ENTRY = 1_000_000

const EVENTS: Statement = { name: 'record-events', text: RECORD_EVENTS }

/** Returns the next changes after a place, in order, up to a log position; a replica that is behind has none yet. */
export async function getRecordEvents(
  database: ReadDatabase,
  after: Cursor,
  upTo: number,
): Promise<{ events: RecordEvent[]; next: Cursor }> {
  const [row] = await database.rows<RecordEventsRow>(EVENTS, valuesOf(after, upTo))
  return recordEventsOf(after, row)
}

const STATE: Statement = {
  name: 'stream-state',
  text: `
    select folded_position as head, (
      select coalesce(string_agg(network || ' ' || finalized_number, ',' order by network), '')
      from ledger.chain_position where finalized_number is not null
    ) as finalized from projection.fold_state`,
}

/** Two look-ups in small tables. */
export async function getStreamState(database: ReadDatabase): Promise<StreamState> {
  const [row] = await database.rows<{ head: string; finalized: string }>(STATE)
  if (row === undefined) throw new Error('the read model has no state')
  return { head: Number(row.head), finalized: row.finalized }
}

/**
 * An event that a reorg may still take away is in a block above the final one. It and its record are found by the position
 * of the entry that appended it, wherever a later entry moved it to.
 */
const FINALITY: Statement = {
  name: 'stream-finality',
  text: `
    select folded_position as head, (
      select coalesce(json_agg(json_build_object('network', network, 'networkId', split_part(network, ':', 2),
        'block', finalized_number, 'hash', finalized_hash, 'recordsBefore', ${IDS_PER_ENTRY} * coalesce((
          select min(coalesce(origin, position)) from ledger.event_log entry
          where entry.network = chain.network and block_number > finalized_number
        ), folded_position + 1)) order by network), '[]'::json)
      from ledger.chain_position chain where finalized_number is not null
    ) as final from projection.fold_state`,
}

/** Final blocks, and the log position at which they are final. The look-up reads the blocks that are not final. */
export async function getFinality(database: ReadDatabase): Promise<{ head: number; final: Finality[] }> {
  const [row] = await database.rows<{ head: string; final: Finality[] }>(FINALITY)
  if (row === undefined) throw new Error('the read model has no state')
  return { head: Number(row.head), final: row.final }
}
