import { sql, type Kysely } from 'kysely'

/**
 * The key that signs jobs of the queue. It has a schema of its own, so that a grant on all tables of another schema never
 * includes it: only the indexer's role may read it. gen_random_uuid draws 122 random bits from the system; two of them are
 * hashed to the key's 32 bytes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema secrets`.execute(db)
  await sql`
    create table secrets.queue_key (
      only_row boolean primary key default true check (only_row),
      key bytea not null check (octet_length(key) = 32)
    )`.execute(db)
  await sql`insert into secrets.queue_key (key)
    values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')))`.execute(db)
}
