import { sql, type Kysely } from 'kysely'

/** Only the event that makes a loan says when it opened: null there is the mark that it was not read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index loans_without_beginning on projection.loans (network) where opened_s is null`.execute(
    db,
  )
  // Null: not counted. Kept beside the status, for a reader of it must never wait for the read model.
  await sql`alter table ledger.network_status add column loans_without_beginning integer`.execute(db)
  // An interrupted replay built its tables without the index.
  await sql`drop schema if exists projection_next cascade`.execute(db)
}
