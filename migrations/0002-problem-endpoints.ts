import { sql, type Kysely } from 'kysely'

/** Places, from 1, of the endpoints behind a problem. Public answers show them, and nothing else of the problem's text. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.network_status add column problem_endpoints smallint[] not null default '{}'`.execute(
    db,
  )
}
