import { sql, type Kysely } from 'kysely'

/** Addresses of each network's block explorer, as its reader's configuration has them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.network_status add column explorer jsonb`.execute(db)
}
