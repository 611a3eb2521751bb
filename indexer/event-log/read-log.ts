import { sql } from 'kysely'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { compareInNetworks } from '../../shared/events/entry-steps.ts'
import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { ofNetwork } from './of-network.ts'
import type { LastEntry } from './plan-entries.evolve.ts'

/** Selects rows in the shape of an entry; {@link requireWhole} checks them. */
const ENTRY =
  sql.raw(`position, step, recorded_at as "recordedAt", last.network, blockchain, op, origin, subject,
  previous_subject as "previousSubject", body as event`)

export interface ReadEntry {
  entry: LogEntry
  /** Bytes of the body as JSON. */
  bytes: number
}

/** Entries after position `after` up to and including `upTo`, in order. The last step may be incomplete. */
export async function getEntriesBetween(db: Db | Trx, after: number, upTo: number): Promise<ReadEntry[]> {
  const rows = await db
    .selectFrom('ledger.event_log')
    .select([
      'position',
      'step',
      'recorded_at as recordedAt',
      'network',
      'blockchain',
      'op',
      'origin',
      'subject',
      'previous_subject as previousSubject',
      'body as event',
      sql<number>`coalesce(octet_length(body::text), 0)`.as('bytes'),
    ])
    .where('position', '>', after)
    .where('position', '<=', upTo)
    .orderBy('position')
    .execute()
  // The table's constraints guarantee everything else about an entry's shape.
  return rows.map(({ bytes, ...entry }) => ({ entry: requireWhole(entry as LogEntry), bytes }))
}

/**
 * The entries that hold for these subjects as of `position`, by network and in chain order. An event holds if its
 * newest entry up to there is not a retraction.
 */
export async function getHeldEntriesOf(trx: Trx, subjects: string[], position: number): Promise<HeldEntry[]> {
  // `+ 0` keeps the planner from walking the primary key: nearly all entries match the condition.
  const { rows } = await sql<HeldEntry>`
    with keys as (
      select distinct network, natural_key from ledger.event_log
      where subject = any(${subjects}) and position + 0 <= ${position}
    )
    select ${ENTRY} from keys cross join lateral (
      select * from ledger.event_log e
      where e.natural_key = keys.natural_key and ${ofNetwork('e.network')} = keys.network and e.position + 0 <= ${position}
      order by revision desc limit 1
    ) last
    where last.op <> 'retract' and last.subject = any(${subjects})`.execute(trx)
  return rows.map(requireWhole).sort(compareInNetworks)
}

/**
 * The newest entries of the keys of `events`, and those that hold in blocks `from` to `to` (inclusive). A body is read
 * only if one of the events is from the same block.
 */
export async function getLastEntries(
  db: Db | Trx,
  network: string,
  scope: { from: number; to: number; events: readonly ChainEvent[] },
): Promise<LastEntry[]> {
  const keys = scope.events.map(naturalKey)
  const hashes = [...new Set(scope.events.map(({ blockHash }) => blockHash))]
  // The lateral join looks up each key: for a list of keys, the planner scans a table without statistics. It uses the
  // key alone: for a network missing from the statistics, the planner would scan by block.
  const { rows } = await sql<LastEntry>`
    select last.op, last.natural_key as "naturalKey", last.revision, coalesce(last.origin, last.position) as origin,
      last.subject, last.kind, last.block_number as "blockNumber", last.block_hash as "blockHash",
      last.log_index as "logIndex", case when last.block_hash = any(${hashes}) then last.body end as event
    from (
      select natural_key, bool_or(asked) as asked from (
        select unnest(${keys}::text[]) as natural_key, true as asked
        union all
        select natural_key, false from ledger.event_log
        where network = ${network} and block_number between ${scope.from} and ${scope.to}
      ) each_key group by natural_key
    ) wanted cross join lateral (
      select * from ledger.event_log
      where natural_key = wanted.natural_key and ${ofNetwork('network')} = ${network} order by revision desc limit 1
    ) last
    where asked or (last.op <> 'retract' and last.block_number between ${scope.from} and ${scope.to})`.execute(
    db,
  )
  return rows
}

/** The newest position of the log; 0 if it is empty. */
export async function getLastPosition(db: Db | Trx): Promise<number> {
  const row = await db.selectFrom('ledger.log_head').select('last_position').executeTakeFirstOrThrow()
  return row.last_position
}

/** Blocks all appends until this transaction ends, and returns the log's newest position. */
export async function lockLog(trx: Trx): Promise<number> {
  const row = await trx
    .selectFrom('ledger.log_head')
    .select('last_position')
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.last_position
}

/** Throws on a row that cannot exist: a JSON null passes the table's own checks. */
function requireWhole<E extends LogEntry>(entry: E): E {
  const { position, op, event, origin } = entry
  if ((event === null) === (op === 'retract') && (origin === null) === (op === 'append')) return entry
  throw new Error(`log entry ${position} (${op}) lacks its body or its origin`)
}
