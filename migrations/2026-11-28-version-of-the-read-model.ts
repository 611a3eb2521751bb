import { sql, type Kysely } from 'kysely'

/** Random, so that two timelines of one database never share a version, as they can share `xmin` and `ctid`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table projection.fold_state add column version uuid not null default gen_random_uuid()`.execute(
    db,
  )
  // An interrupted replay built its tables without the column.
  await sql`drop schema if exists projection_next cascade`.execute(db)
}
