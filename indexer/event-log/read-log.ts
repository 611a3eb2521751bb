import { sql } from 'kysely'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { compareByChain } from '../../shared/events/event-place.ts'
import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { CopiedRow } from '../../shared/db/copied-row.ts'
import { readRows } from '../../shared/db/read-rows.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { ofNetwork } from './of-network.ts'
import type { LastEntry } from './plan-entries.evolve.ts'

/** The row of an entry is the entry, once {@link requireWhole} has looked at it. */
const ENTRY =
  sql.raw(`position, step, recorded_at as "recordedAt", last.network, blockchain, op, origin, subject,
  previous_subject as "previousSubject", body as event`)

export interface ReadEntry {
  entry: LogEntry
  /** Of its row. */
  bytes: number
}

/** The entries after position `after` up to and including `upTo`, in order: of steps that are cut there, a part. */
export async function getEntriesBetween(db: Db | Trx, after: number, upTo: number): Promise<ReadEntry[]> {
  const query = sql`
    select position, step, recorded_at, network, blockchain, op, origin, subject, previous_subject, body
    from ledger.event_log where position > ${sql.lit(after)} and position <= ${sql.lit(upTo)} order by position`
  return readRows(db, query, (row) => ({ entry: requireWhole(toEntry(row)), bytes: row.bytes }))
}

/** The table's constraints see to what an entry of its kind has, but for what {@link requireWhole} looks at. */
function toEntry(row: CopiedRow): LogEntry {
  return {
    position: row.bigint(),
    step: row.bigint(),
    recordedAt: row.time(),
    network: row.text(),
    blockchain: row.text(),
    op: row.text(),
    origin: row.bigintOrNull(),
    subject: row.textOrNull(),
    previousSubject: row.textOrNull(),
    event: row.json(),
  } as LogEntry
}

/**
 * What the log says of these subjects up to and including `position`: the entries that hold then, by network and in chain
 * order. `newest` has the last entries up to there, all of them from its first on, or none: the log need not hold them yet.
 */
export async function getHeldEntriesOf(
  trx: Trx,
  subjects: string[],
  position: number,
  newest: readonly LogEntry[] = [],
): Promise<HeldEntry[]> {
  const before = (newest[0]?.position ?? position + 1) - 1
  const wanted = new Set<string | null>(subjects)
  const concerned = newest.filter((entry) => wanted.has(entry.subject) || wanted.has(entry.previousSubject))
  // What is said of the same event again has the same origin, from its coming to its going.
  const again = new Map(concerned.map((entry) => [entry.origin ?? entry.position, entry]))
  const told = [...again.keys()]
  // `+ 0`: nearly all entries are up to that position, and nothing is found by it.
  const { rows } = await sql<HeldEntry>`
    with keys as (
      select distinct network, natural_key from ledger.event_log
      where subject = any(${subjects}) and position + 0 <= ${before}
        and coalesce(origin, position) <> all(${told}::bigint[])
    )
    select ${ENTRY} from keys cross join lateral (
      select * from ledger.event_log e
      where e.natural_key = keys.natural_key and ${ofNetwork('e.network')} = keys.network and e.position + 0 <= ${before}
      order by revision desc limit 1
    ) last
    where last.op <> 'retract' and last.subject = any(${subjects})
      and coalesce(origin, position) <> all(${told}::bigint[])`.execute(trx)
  const fresh = [...again.values()].filter(
    (entry): entry is HeldEntry => entry.op !== 'retract' && wanted.has(entry.subject),
  )
  return [...rows.map(requireWhole), ...fresh].sort(compareInNetworks)
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
