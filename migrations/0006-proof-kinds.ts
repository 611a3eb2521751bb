import { sql, type Kysely } from 'kysely'

/** Ranges and entries say how they were proven, in the words of docs/proof.md. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  -- Readers wait behind these locks too, so they are tried again. After deadlock_timeout, 1 s, Postgres ends an autovacuum.
  set local lock_timeout = '1200ms';

  -- One of 'receipts', 'state', 'bloom', 'two' and 'one'; null for a retraction, off-chain, and for entries before this migration.
  alter table ledger.event_log add column proof text;

  -- Blocks of the range by check, in the order of checks. Ranges that were joined before are as well proven as their weakest part.
  alter table ledger.ranges_read add column counts integer[];
  update ledger.ranges_read set
    checks = array[case
      when checks && array['unchecked', 'receipt-list'] or cardinality(checks) = 0 then 'one'
      when 'second-endpoint' = any(checks) then 'two'
      else 'bloom' end],
    counts = array[(to_number - from_number + 1)::integer];
  alter table ledger.ranges_read alter column counts set not null;
  `,
    )
    .execute(db)
}
