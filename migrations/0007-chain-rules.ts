import { sql, type Kysely } from 'kysely'

/** A network remembers which of Ethereum's rules its chain follows, so that a restart does not lower a proof. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  -- Readers wait behind this lock too, so it is tried again. After deadlock_timeout, 1 s, Postgres ends an autovacuum.
  set local lock_timeout = '1200ms';

  -- True by rule ('headers', 'receipts', 'transactions') once a block held to it; false where an operator said never.
  alter table ledger.chain_position add column chain_rules jsonb not null default '{}';
  `,
    )
    .execute(db)
}
