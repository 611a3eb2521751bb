import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { replay } from '../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import type { Db } from '../../shared/db/connect.ts'
import { miscounts } from '../helpers/counted-history.ts'
import { LIVE_ENTRIES, RECORDS } from '../helpers/log-views.ts'

/** Checks of a disturbed index. Each returns its complaints in lines; empty: all is well. */

/** Ids that the index assigns and times of its clock differ between two indexes with equal content. */
const OWN_FIELDS = sql`array['id', 'createdAt', 'updatedAt']`

/**
 * Returns all content of an index in lines. They are equal for two indexes of the same chains, in any order of reading.
 */
export async function contentOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select 'position ' || jsonb_build_array(network, number, hash, finalized_number, finalized_hash)::text as line
    from ledger.chain_position
    union all
    select 'header ' || jsonb_build_array(network, number, hash, parent_hash)::text from ledger.block_headers
    union all
    select 'entry ' || jsonb_build_array(network, natural_key, kind, block_number, block_hash, log_index,
                                         subject, body::jsonb - 'way')::text
    from ${LIVE_ENTRIES} live
    union all
    select 'record ' || jsonb_build_array(network, natural_key, tx_hash, event, loan_id, blockchain, network_id,
                                          contract_address, loan_type, channel)::text
    from ${RECORDS} records
    union all
    select 'loan ' || jsonb_build_array(loan_type, loan_id, network, derived_state,
                                        evm_part::jsonb - ${OWN_FIELDS})::text
    from projection.loans
    union all
    select 'channel ' || jsonb_build_array(network, robust, loan_type, loan_id, role, strength, shown,
                                           part::jsonb - ${OWN_FIELDS})::text
    from projection.channels
    union all
    select 'waiting ' || jsonb_build_array(network, digest)::text from ledger.waiting_vouchers
    union all
    select 'dead letter ' || jsonb_build_array(queue, network, payload, reason)::text from ledger.dead_letters`.execute(
    db,
  )
  return rows.map(({ line }) => line).sort()
}

const MOST_TOLD = 6

export function differences(ours: readonly string[], wanted: readonly string[]): string[] {
  const [have, want] = [new Set(ours), new Set(wanted)]
  return [
    ...wanted.filter((line) => !have.has(line)).map((line) => `missing: ${line}`),
    ...ours
      .filter((line, index) => !want.has(line) || ours[index - 1] === line)
      .map((line) => `extra: ${line}`),
  ].slice(0, MOST_TOLD)
}

/** Checks the invariants of any log. */
export async function brokenRules(db: Db): Promise<string[]> {
  const { rows } = await sql<{ rule: string }>`
    with history as (
      select *, lag(op) over own as before, lag(revision, 1, 0) over own as last_revision,
        max(position) filter (where op = 'append') over own as made, lag(recorded_at) over (order by position) as last_time
      from ledger.event_log window own as (partition by network, natural_key order by position)
    )
    select 'positions have gaps, or the head is not the last of them' as rule
    from ledger.log_head, (select count(*) as entries, coalesce(max(position), 0) as last from ledger.event_log) log
    where entries <> last or last_position <> last
    union all
    select 'revision ' || revision || ' after ' || last_revision || ' of ' || natural_key from history
    where revision <> last_revision + 1
    union all
    select op || ' after ' || coalesce(before, 'nothing') || ' of ' || natural_key from history
    where (op = 'append') <> (before is null or before = 'retract')
    union all
    select 'recorded before its predecessor: ' || position from history where recorded_at < last_time
    union all
    select 'the origin of ' || natural_key || ' is ' || coalesce(origin::text, 'none') from history
    where origin is distinct from case when op <> 'append' then made end
    union all
    select 'two records: ' || event || ' ' || tx_hash from ${RECORDS} records
    where natural_key is not null group by network, natural_key, event, tx_hash having count(*) > 1
    union all
    select 'a record without an entry that holds: ' || id from projection.activity record
    where natural_key is null and not exists (
      select from ${LIVE_ENTRIES} live where subject not like 'channel/%'
        and coalesce(live.origin, live.position) * 1000000 = record.id)
    union all
    select 'no record of ' || natural_key from ${LIVE_ENTRIES} live
    where subject not like 'channel/%' and not exists (
      select from projection.activity record
      where natural_key is null and record.id = coalesce(live.origin, live.position) * 1000000)
    union all
    select 'the read model stands at ' || folded_position from projection.fold_state, ledger.log_head
    where folded_position <> last_position`.execute(db)
  return [...rows.map(({ rule }) => rule), ...(await miscounts(db))]
}

/** Replays the log: the read model must be the same, byte for byte. */
export async function replayDiffers(db: Db): Promise<string[]> {
  const before = await digestReadModel(db)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  const after = await digestReadModel(db)
  return before.digest === after.digest ? [] : ['replay gives another read model']
}

/** Checks for remains in the database's server after every program has ended. `own` is the examiner's name there. */
export async function leaks(db: Db, own: string): Promise<string[]> {
  let left: string[] = []
  for (const waitMs of [0, 50, 200, 1000, 2000]) {
    await sleep(waitMs)
    const { rows } = await sql<{ line: string }>`
      select 'left open: ' || application_name || ': ' || query as line from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and application_name <> ${own}
      union all
      select 'an advisory lock is held' from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`.execute(
      db,
    )
    left = rows.map(({ line }) => line)
    if (left.length === 0) return []
  }
  return left
}
