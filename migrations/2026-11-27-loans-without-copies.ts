import { sql, type Kysely } from 'kysely'

/** A loan's state and its parties of the contract's chain stood in columns as well, which nobody has read since lookups show the part. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table projection.loans drop column state, drop column borrower, drop column lender`.execute(
    db,
  )
  // Where a replay was interrupted: what it has built has the columns still.
  await sql`drop schema if exists projection_next cascade`.execute(db)
}
