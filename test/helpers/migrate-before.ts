import { readdirSync } from 'node:fs'
import type { Kysely } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { withoutTables } from './database.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

/** Applies all migrations that come before the one of this file name. */
export async function migrateBefore(db: Db, name: string): Promise<void> {
  const before = readdirSync(FOLDER)
    .sort()
    .filter((other) => other < name)
  for (const file of before) {
    const migration = (await import(new URL(file, FOLDER).href)) as {
      up: (db: Kysely<unknown>) => Promise<void>
    }
    await migration.up(withoutTables(db))
  }
}
