import { sql } from 'kysely'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { compareByChain } from '../../shared/events/event-place.ts'
import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { ofNetwork } from './of-network.ts'
import type { LastEntry } from './plan-entries.evolve.ts'

/** The row of an entry is the entry, once {@link requireWhole} has looked at it. */
const ENTRY =
  sql.raw(`position, step, recorded_at as "recordedAt", last.network, blockchain, op, origin, subject,
  previous_subject as "previousSubject", body as event`)

export interface ReadEntry {
  entry: LogEntry
  /** Of its body, as JSON. */
  bytes: number
}

/** The entries after position `after` up to and including `upTo`, in order: a step that is cut there comes in part. */
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
  // The table's constraints hold what an entry of its kind has, but for what requireWhole checks.
  return rows.map(({ bytes, ...entry }) => ({ entry: requireWhole(entry as LogEntry), bytes }))
}

/**
 * What the log holds of these subjects as of `position`: each event's newest entry up to there, unless it is a retraction, by
 * network and in chain order.
 */
export async function getHeldEntriesOf(trx: Trx, subjects: string[], position: number): Promise<HeldEntry[]> {
  // `+ 0` keeps the planner from walking the primary key: nearly all entries are up to that position.
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

function compareInNetworks(a: HeldEntry, b: HeldEntry): number {
  if (a.network !== b.network) return a.network < b.network ? -1 : 1
  return compareByChain(a.event, b.event) || a.position - b.position
}

/**
 * The newest entries of the keys of `events`, and those that hold now in the blocks `from` … `to` (inclusive); with what
 * they hold where one of the events is of their block.
 */
export async function getLastEntries(
  db: Db | Trx,
  network: string,
  scope: { from: number; to: number; events: readonly ChainEvent[] },
): Promise<LastEntry[]> {
  const keys = scope.events.map(naturalKey)
  const hashes = [...new Set(scope.events.map(({ blockHash }) => blockHash))]
  // Each key is looked up by itself: of a list of them, on a table without statistics, the planner makes a scan of it all.
  // By the key, and nothing but that: of a network that the statistics do not know it would scan all by their blocks.
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

/** The newest position of the log; 0 when it is empty. */
export async function getLastPosition(db: Db | Trx): Promise<number> {
  const row = await db.selectFrom('ledger.log_head').select('last_position').executeTakeFirstOrThrow()
  return row.last_position
}

/** Keeps everybody from appending until this transaction ends, and returns the log's newest position. */
export async function lockLog(trx: Trx): Promise<number> {
  const row = await trx
    .selectFrom('ledger.log_head')
    .select('last_position')
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.last_position
}

/** Throws where a row cannot be: a JSON null passes the table's own checks. */
function requireWhole<E extends LogEntry>(entry: E): E {
  const { position, op, event, origin } = entry
  if ((event === null) === (op === 'retract') && (origin === null) === (op === 'append')) return entry
  throw new Error(`log entry ${position} (${op}) lacks its body or its origin`)
}
