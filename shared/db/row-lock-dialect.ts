import { PostgresAdapter, PostgresDialect, sql, type Kysely, type MigrationLockOptions } from 'kysely'

/** Kysely's dialect, but migrations lock a row: any role that may connect can hold an advisory lock. */
export class RowLockDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new RowLockAdapter()
  }
}

class RowLockAdapter extends PostgresAdapter {
  /**
   * Kysely calls this before it begins the migrations' transaction, on the same connection. A row lock needs a
   * transaction, so it begins here. Postgres answers the second `begin` with only a warning, and the commit frees the
   * row.
   */
  override async acquireMigrationLock(db: Kysely<unknown>, options: MigrationLockOptions): Promise<void> {
    const table = sql.table([options.lockTableSchema ?? 'public', options.lockTable].join('.'))
    await sql`begin`.execute(db)
    await sql`select from ${table} where id = ${options.lockRowId} for update`.execute(db)
  }

  /** Ends the transaction that is still open if the lock was not obtained. */
  override async releaseMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`rollback`.execute(db)
  }
}
