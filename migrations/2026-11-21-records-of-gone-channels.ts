import { sql, type Kysely } from 'kysely'

/**
 * A read model that an earlier version has begun to build may show records of channels that a reorg took away: it is
 * begun again. One that is in use is mended by `npm run ops -- replay`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop schema if exists projection_next cascade`.execute(db)
}
