import { sql, type Kysely } from 'kysely'

/** Addresses of each network's block explorer, as its reader's configuration has them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Readers wait behind this lock too, so it is tried again. After `deadlock_timeout`, 1 s, Postgres ends an autovacuum.
  await sql`set local lock_timeout = '1200ms'`.execute(db)
  await sql`alter table ledger.network_status add column explorer jsonb`.execute(db)
}
