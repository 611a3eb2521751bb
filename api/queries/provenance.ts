import { INDEXED, type Indexed } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, recordsJson } from './record-json.ts'

/** An entry of the log about one event: the event came, was corrected or went. */
export interface LoggedEntry {
  position: number
  op: 'append' | 'replace' | 'retract'
  network: string
  kind: string
  block: number
  hash: string
  index: number
  /** Unix seconds of the block; null without an event. */
  blockTimeS: number | null
  /** How an item signed off-chain arrived; null for chain events. */
  way: string | null
  recordedAt: string
  cause: string | null
  /** How the event's block was proven when it was read; null where it was not kept. */
  proof: string | null
}

export interface FoundProvenance {
  /** The record's ten fields. */
  record: Record<string, unknown>
  /** Entries of its own event in the order of the log; none for a voucher, which has no event of its own. */
  own: LoggedEntry[]
  /** The entry that made the record visible; null if its log is gone. */
  visible: LoggedEntry | null
  /** The range that was read with the event's block. */
  range: { checks: string[]; readAt: string } | null
  /** The last final block of the event's network. */
  finalized: number | null
  indexed: Indexed
}

/** Log entries per record at most: an event seldom comes and goes twice. */
const MOST_ENTRIES = 100

/** The ids of records per log entry. */
const IDS_PER_ENTRY = 1_000_000

const ENTRY = `
  position, op, network, kind, block_number as block, block_hash as hash, log_index as index,
  (body->>'blockTimeS')::bigint as "blockTimeS", body->>'way' as way, ${isoTime('recorded_at')} as "recordedAt", cause, proof`

/**
 * A contract's record has the id of the entry that appended its event. A channel's record is found by its own key, which
 * also is its event's. Raw SQL: each part is one look-up, and all see the same moment.
 */
const PROVENANCE: Statement = {
  name: 'provenance',
  text: `
    with found as materialized (select * from projection.activity where id = $1::bigint),
    visible as materialized (
      select natural_key as key, network as of_network, ${ENTRY} from ledger.event_log
      where position = $1::bigint / ${IDS_PER_ENTRY}
    ), named as (
      select coalesce(found.natural_key, visible.key) as key, coalesce(found.network, visible.of_network) as of_network
      from found left join visible on true
    ), own as materialized (
      select entry.* from named cross join lateral (
        select ${ENTRY} from ledger.event_log where natural_key = named.key and network = named.of_network
        order by revision limit ${MOST_ENTRIES}
      ) as entry
    ), last as (select network, block from own where op <> 'retract' order by position desc limit 1)
    select (${recordsJson('select * from found')})::json as record,
      (select coalesce(json_agg(to_json(own) order by position), '[]'::json) from own) as own,
      (select to_json(visible) from visible) as visible,
      (
        select json_build_object('checks', checks, 'readAt', ${isoTime('read_at')}) from (
          select range.* from last cross join lateral (
            select * from ledger.ranges_read where network = last.network and from_number <= last.block
            order by network desc, from_number desc limit 1
          ) as range where range.to_number >= last.block
        ) as read
      ) as range,
      (select finalized_number from last join ledger.chain_position using (network)) as finalized,
      ${INDEXED}
    from found`,
}

/** Returns what the log knows about a record, or undefined when there is no such record. */
export async function findProvenance(
  database: ReadDatabase,
  id: string,
): Promise<FoundProvenance | undefined> {
  const [row] = await database.rows<FoundProvenance>(PROVENANCE, [id])
  return row
}
