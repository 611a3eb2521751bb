import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** What matters to this service of how a database is set up. */
export interface DatabaseSettings {
  /** Such as `16.4`. */
  version: string
  /** Such as 160004. */
  versionNumber: number
  encoding: string
  collation: string
  isStandby: boolean
  isReadOnly: boolean
  /** Settings that trade safety for speed, with their values. */
  fsync: string
  fullPageWrites: string
  synchronousCommit: string
}

export async function getDatabaseSettings(db: Db): Promise<DatabaseSettings> {
  const { rows } = await sql<DatabaseSettings>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as "versionNumber",
      pg_encoding_to_char(encoding) as encoding, datcollate as collation,
      pg_is_in_recovery() as "isStandby", current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
      current_setting('fsync') as fsync, current_setting('full_page_writes') as "fullPageWrites",
      current_setting('synchronous_commit') as "synchronousCommit"
    from pg_database where datname = current_database()`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the database does not know itself')
  return row
}
