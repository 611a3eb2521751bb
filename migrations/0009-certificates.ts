import { sql, type Kysely } from 'kysely'

/** A network keeps how far certificates of finality are verified, and the last block that one proves final. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  -- Readers wait behind this lock too, so it is tried again. After deadlock_timeout, 1 s, Postgres ends an autovacuum.
  set local lock_timeout = '1200ms';
  alter table ledger.chain_position add column certificates jsonb, add column certified bigint;
  `,
    )
    .execute(db)
}
