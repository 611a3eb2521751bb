import { sql, type Kysely } from 'kysely'

/**
 * What an indexer follows besides a network is told with it: several indexers may have different networks, and only one that
 * once followed this one along with its own may say that nobody does any more. So far whoever started said so of all.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.network_status add column told_with text[] not null default '{}'`.execute(db)
  await sql`
    update ledger.network_status set told_with = (select array_agg(network) from ledger.network_status)`.execute(
    db,
  )
}
