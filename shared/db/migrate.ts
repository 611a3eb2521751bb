import { existsSync, promises as fs } from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FileMigrationProvider, Migrator, sql } from 'kysely'
import { ConfigError } from '../errors.ts'
import type { Db } from './connect.ts'

/** The nearest folder above this file: a bundle is somewhere in dist/, which contains the migrations as well. */
const FOLDER = ['../migrations', '../../migrations']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((folder) => existsSync(folder))

function migrationFolder(): string {
  if (FOLDER === undefined)
    throw new ConfigError('the folder of the migrations is missing: run `npm run build` again')
  return FOLDER
}

function migrator(db: Db): Migrator {
  return new Migrator({
    db,
    provider: new FileMigrationProvider({ fs, path, migrationFolder: migrationFolder() }),
    migrationTableSchema: 'migration',
  })
}

/** SQLSTATE of a lock that was not there within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03'
/** Readers that wait behind an attempt go on in the pause. */
const PAUSE_MS = 2_000

/**
 * Updates the schema to this program's and returns the names of the migrations it ran. Any number of processes may call
 * it at once: Kysely's migrator locks, and the others find nothing left. While others hold a table it is tried again;
 * `onWait` is called at the first such attempt.
 */
export async function migrate(db: Db, onWait: () => void = () => undefined): Promise<string[]> {
  await refuseUnknownMigrations(db)
  for (let attempt = 1; ; attempt += 1) {
    const { error, results } = await migrator(db).migrateToLatest()
    if (error === undefined) return (results ?? []).map((result) => result.migrationName)
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE)
      throw error instanceof Error ? error : new Error(JSON.stringify(error))
    if (attempt === 1) onWait()
    await sleep(PAUSE_MS)
  }
}

/** Throws a one-line ConfigError unless the database has exactly the schema of this program. */
export async function requireKnownSchema(db: Db): Promise<void> {
  const applied = await appliedMigrations(db)
  const known = await knownMigrations(db)
  refuse(applied, known)
  const missing = known.filter((name) => !applied.includes(name))
  if (missing.length > 0) {
    throw new ConfigError(
      `the database lacks the migration ${missing.join(', ')}: run \`npm run migrate\` first`,
    )
  }
}

async function refuseUnknownMigrations(db: Db): Promise<void> {
  refuse(await appliedMigrations(db), await knownMigrations(db))
}

function refuse(applied: string[], known: string[]): void {
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new ConfigError(
      `the database has the migration ${unknown.join(', ')}, which this version does not know: use a newer version`,
    )
  }
}

async function knownMigrations(db: Db): Promise<string[]> {
  return (await migrator(db).getMigrations()).map((migration) => migration.name)
}

async function appliedMigrations(db: Db): Promise<string[]> {
  const exists = await sql<{
    there: boolean
  }>`select to_regclass('migration.kysely_migration') is not null as there`.execute(db)
  if (exists.rows[0]?.there !== true) return []
  const { rows } = await sql<{
    name: string
  }>`select name from migration.kysely_migration order by name`.execute(db)
  return rows.map((row) => row.name)
}
