import { sql } from 'kysely'
import type { NewEntry, WholeEntry } from '../../shared/events/log-entry.ts'
import { copyRows } from '../../shared/db/copy-rows.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { updateChannelAddresses } from './channel-addresses.ts'
import { noteTokens } from './tokens.ts'

/**
 * Assigns positions to entries, which {@link writeEntries} must write in this transaction. The log's head stays locked
 * until the transaction ends: positions follow the order of commits. Times never go back, whatever the clock does.
 */
export async function takePositions(trx: Trx, entries: NewEntry[]): Promise<WholeEntry[]> {
  if (entries.length === 0) return []
  const head = await trx
    .updateTable('ledger.log_head')
    .set({
      last_position: sql<number>`last_position + ${entries.length}`,
      last_recorded_at: sql<Date>`greatest(last_recorded_at, date_trunc('milliseconds', clock_timestamp()))`,
    })
    .returning(['last_position', 'last_recorded_at as recorded_at'])
    .executeTakeFirstOrThrow()
  const step = head.last_position - entries.length + 1
  return entries.map((entry, index): WholeEntry =>
    Object.assign(entry, { position: step + index, step, recordedAt: head.recorded_at }),
  )
}

/**
 * Appends entries that have their positions. The caller must prevent other appends under the same natural keys since
 * planning.
 */
export async function writeEntries(trx: Trx, entries: WholeEntry[]): Promise<void> {
  await copyRows(trx, 'ledger.event_log', entries.map(toRow))
  await updateChannelAddresses(trx, entries)
  await noteTokens(trx, entries)
}

function toRow(entry: WholeEntry) {
  return {
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
    body: entry.event === null ? null : JSON.stringify(entry.event),
    cause: entry.cause,
    recorded_at: entry.recordedAt,
    origin: entry.origin,
    proof: entry.proof ?? null,
  }
}
