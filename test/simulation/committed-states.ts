import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { Change, ShownRecord } from './check-history.ts'

/**
 * Installs triggers that note every change of the activity records with its transaction and the log's position, in
 * commit order. A record's place among the others is left out, because it follows from the ids.
 */
export async function recordStates(db: Db): Promise<void> {
  await sql`create schema simulation`.execute(db)
  await sql`create table simulation.changes (
    seq bigint generated always as identity primary key,
    tx bigint not null, position bigint not null, op text not null, id bigint not null, record jsonb)`.execute(
    db,
  )
  await sql`create function simulation.note() returns trigger language plpgsql as $$
    begin
      insert into simulation.changes (tx, position, op, id, record)
      select txid_current(), last_position, tg_op, coalesce(new.id, old.id),
             case when tg_op = 'DELETE' then null else to_jsonb(new) || (
               select to_jsonb(kind) - 'id' from projection.record_kinds kind where kind.id = new.kind) end
      from ledger.log_head;
      return null;
    end $$`.execute(db)
  await sql`create trigger note after insert or delete on projection.activity
    for each row execute function simulation.note()`.execute(db)
  await sql`create trigger note_update after update on projection.activity
    for each row when ((to_jsonb(old) - 'position') is distinct from (to_jsonb(new) - 'position'))
    execute function simulation.note()`.execute(db)
}

interface NotedRow {
  tx: number
  position: number
  op: string
  id: number
  record: Record<string, string | number | null> | null
}

/** Returns the notes of {@link recordStates}, one change per transaction, and the ends of the log's steps. */
export async function committedStates(db: Db): Promise<{ changes: Change[]; stepEnds: Set<number> }> {
  const { rows } = await sql<NotedRow>`
    select tx, position, op, id, record from simulation.changes order by seq`.execute(db)
  const changes: (Change & { tx: number })[] = []
  for (const { tx, position, id, record } of rows) {
    let change = changes.at(-1)
    if (change?.tx !== tx) {
      change = { tx, position, put: [], gone: [] }
      changes.push(change)
    }
    change.put = change.put.filter((put) => put.id !== id)
    if (record === null) change.gone.push(id)
    else change.put.push(shown(record))
  }
  const ends = await sql<{ position: number }>`
    select max(position) as position from ledger.event_log group by step`.execute(db)
  return { changes, stepEnds: new Set(ends.rows.map(({ position }) => position)) }
}

function shown(row: Record<string, string | number | null>): ShownRecord {
  const text = (name: string): string => String(row[name])
  const time = (name: string): string => new Date(text(name)).toISOString()
  return {
    id: Number(row['id']),
    txHash: text('tx_hash'),
    event: text('event'),
    loanId: text('loan_id'),
    blockchain: text('blockchain'),
    networkId: text('network_id'),
    contractAddress: row['contract_address'] === null ? null : text('contract_address'),
    loanType: text('loan_type'),
    createdAt: time('created_at'),
    updatedAt: time('updated_at'),
  }
}
