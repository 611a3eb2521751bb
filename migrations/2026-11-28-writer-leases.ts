import { sql, type Kysely } from 'kysely'

/**
 * A lease row names the process that writes a network or runs an operation; only the indexer's role can write it. Any role that may
 * connect can hold any advisory lock. `backend_pid` and `backend_start` name the holder's session in pg_stat_activity;
 * `expires_at` is by the database's clock. `problem_kind` says which part fails, from a closed set.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.writer_leases (
      name text primary key,
      holder text not null,
      token text not null,
      backend_pid int not null,
      backend_start timestamptz not null,
      expires_at timestamptz not null,
      taken_at timestamptz not null
    )`.execute(db)
  await sql`alter table ledger.network_status add column problem_kind text`.execute(db)
}
