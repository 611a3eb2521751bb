import { identified, type Cursor, type RecordEvent } from '../events/record-event.ts'

const isoTime = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Log entries that one statement looks at, and changes that it returns, at most. */
const WINDOW = 2000
const MOST_EVENTS = 200
/** Ids of records per log entry. */
const IDS_PER_ENTRY = 1_000_000

const SAID = 'id, kind, tx_hash, loan_id, created_at, updated_at'
const LIMIT = `$3::bigint + ${MOST_EVENTS + 1}`

/** The first content of each record, by its id: that of the log entry that made it visible. */
const MADE = `
  select id / ${IDS_PER_ENTRY} as position, 2 as change, ${SAID} from (
    select ${SAID} from projection.activity as record, bounds
    where id >= ($1::bigint + 1) * ${IDS_PER_ENTRY} and id < (end_position + 1) * ${IDS_PER_ENTRY}
      and not exists (select from projection.activity_past as past where past.id = record.id)
    union all
    select ${SAID} from projection.activity_past, bounds
    where id >= ($1::bigint + 1) * ${IDS_PER_ENTRY} and id < (end_position + 1) * ${IDS_PER_ENTRY}
      and since = id / ${IDS_PER_ENTRY}
  ) as first order by id limit ${LIMIT}`

/** The content of each record after a past row of it ended, or before where it was removed. */
const CHANGED = `
  select until as position, case when next.id is null then 0 else 1 end as change, past.id,
    coalesce(next.kind, past.kind) as kind, coalesce(next.tx_hash, past.tx_hash) as tx_hash,
    coalesce(next.loan_id, past.loan_id) as loan_id, past.created_at,
    coalesce(next.updated_at, past.updated_at) as updated_at
  from bounds cross join projection.activity_past as past left join lateral (
    select ${SAID} from projection.activity_past as later where later.id = past.id and later.since = past.until
    union all
    select ${SAID} from projection.activity as now where now.id = past.id
      and not exists (
        select from projection.activity_past as later where later.id = past.id and later.until > past.until
      )
  ) as next on true
  where past.until > $1::bigint and past.until <= end_position
  order by past.until, past.id limit ${LIMIT}`

/**
 * Selects the changes after a place, with {@link valuesOf} as its parameters. The end is read with them: a replica that
 * is behind must not seem to have nothing in between.
 */
export const RECORD_EVENTS = `
  with bounds as materialized (
    select least($2::bigint, $1::bigint + ${WINDOW}, folded_position) as end_position from projection.fold_state
  ), told as materialized (
    select * from ((${MADE}) union all (${CHANGED})) as either
    order by position, change, id offset $3::bigint limit ${MOST_EVENTS + 1}
  )
  select end_position as "end", (
    select coalesce(json_agg(json_build_object(
      'position', told.position,
      'event', case change when 0 then 'retracted' when 1 then 'changed' else 'record' end,
      'record', json_build_object('id', told.id, 'txHash', tx_hash, 'event', event, 'loanId', loan_id,
        'blockchain', kind.blockchain, 'networkId', network_id, 'contractAddress', contract_address,
        'loanType', loan_type, 'createdAt', ${isoTime('created_at')}, 'updatedAt', ${isoTime('updated_at')},
        'network', case when contract_address is null then 'filecoin:' || network_id else (
          select network from ledger.event_log as entry where entry.position = told.id / ${IDS_PER_ENTRY}
        ) end)
    ) order by told.position, change, told.id), '[]'::json)
    from told join projection.record_kinds as kind on kind.id = told.kind
  ) as events from bounds`

export interface RecordEventsRow {
  end: string | number
  events: Omit<RecordEvent, 'id'>[]
}

/** `upTo` is the last log position that is wanted. */
export function valuesOf(after: Cursor, upTo: number): unknown[] {
  return [after.position, upTo, after.skip]
}

/** The changes, and where the next ones begin: no further than the history that the statement saw. */
export function recordEventsOf(
  after: Cursor,
  row: RecordEventsRow | undefined,
): { events: RecordEvent[]; next: Cursor } {
  if (row === undefined) throw new Error('the read model has no state')
  return identified(after, row.events, { most: MOST_EVENTS, end: Number(row.end) })
}
