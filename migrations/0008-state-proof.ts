import { sql, type Kysely } from 'kysely'

/** A network says at which block the contracts' state was proven equal to the index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  -- Readers wait behind this lock too, so it is tried again. After deadlock_timeout, 1 s, Postgres ends an autovacuum.
  set local lock_timeout = '1200ms';
  alter table ledger.chain_position add column state_proven bigint;
  `,
    )
    .execute(db)
}
