import { sql } from 'kysely'
import type { LogEntry, NewEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { updateChannelAddresses } from './channel-addresses.ts'

/**
 * Appends entries and returns them with their positions. Positions follow the order of commits and times never go
 * back, whatever the clock does: the log's head is locked until this transaction ends. An entry of revision 0 gets
 * the next revision of its natural key.
 */
export async function appendEntries(trx: Trx, entries: NewEntry[]): Promise<LogEntry[]> {
  if (entries.length === 0) return []
  const head = await trx
    .selectFrom('ledger.log_head')
    .select([
      'last_position',
      sql<Date>`greatest(last_recorded_at, date_trunc('milliseconds', clock_timestamp()))`.as('recorded_at'),
    ])
    .forUpdate()
    .executeTakeFirstOrThrow()
  const step = head.last_position + 1
  const revisions = await lastRevisions(trx, entries)
  const appended = entries.map((entry, index): LogEntry =>
    Object.assign(entry, {
      revision: entry.revision === 0 ? (revisions.get(entry.naturalKey) ?? 0) + 1 : entry.revision,
      position: step + index,
      step,
      recordedAt: head.recorded_at,
    }),
  )
  await insertLog(trx, appended)
  await updateLive(trx, appended)
  await updateChannelAddresses(trx, appended)
  await trx
    .updateTable('ledger.log_head')
    .set({ last_position: step + entries.length - 1, last_recorded_at: head.recorded_at })
    .execute()
  return appended
}

/** Only an event that was retracted before has revisions to find: a rare case, but a key must never repeat one. */
async function lastRevisions(trx: Trx, entries: NewEntry[]): Promise<Map<string, number>> {
  const fresh = entries.filter((entry) => entry.revision === 0)
  const [first] = fresh
  if (first === undefined) return new Map()
  const { rows } = await sql<{ natural_key: string; revision: number }>`
    select last.* from unnest(${fresh.map((entry) => entry.naturalKey)}::text[]) as wanted(natural_key)
    cross join lateral (
      select natural_key, revision from ledger.event_log
      where network = ${first.network} and natural_key = wanted.natural_key order by revision desc limit 1
    ) last`.execute(trx)
  return new Map(rows.map((row) => [row.natural_key, row.revision]))
}

async function insertLog(trx: Trx, entries: LogEntry[]): Promise<void> {
  const rows = entries.map((entry) => ({
    position: entry.position,
    step: entry.step,
    network: entry.network,
    blockchain: entry.blockchain,
    op: entry.op,
    natural_key: entry.naturalKey,
    revision: entry.revision,
    subject: entry.subject,
    previous_subject: entry.previousSubject,
    kind: entry.kind,
    block_number: entry.blockNumber,
    block_hash: entry.blockHash,
    log_index: entry.logIndex,
    body: entry.event,
    cause: entry.cause,
    recorded_at: entry.recordedAt,
  }))
  // One parameter and one statement, whatever the number of entries. A JSON null is no body at all.
  await sql`
    insert into ledger.event_log
    select position, step, network, blockchain, op, natural_key, revision, subject, previous_subject, kind,
           block_number, block_hash, log_index, nullif(body, 'null'::jsonb), cause, recorded_at
    from jsonb_populate_recordset(null::ledger.event_log, ${JSON.stringify(rows)}::jsonb)
    order by position`.execute(trx)
}

async function updateLive(trx: Trx, entries: LogEntry[]): Promise<void> {
  const gone = entries.filter((entry) => entry.op === 'retract')
  const [someGone] = gone
  if (someGone !== undefined) {
    await sql`delete from ledger.live_entries
      where network = ${someGone.network} and natural_key = any(${gone.map((entry) => entry.naturalKey)})`.execute(
      trx,
    )
  }
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined || gone.length === entries.length) return
  // From the log itself, where all of it was written just now.
  await sql`
    insert into ledger.live_entries (network, natural_key, position, revision, subject, block_number)
    select network, natural_key, position, revision, subject, block_number from ledger.event_log
    where position between ${first.position} and ${last.position} and op <> 'retract'
    order by position
    on conflict (network, natural_key) do update
      set position = excluded.position, revision = excluded.revision, subject = excluded.subject,
          block_number = excluded.block_number`.execute(trx)
}
