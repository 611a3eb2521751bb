import { sql, type RawBuilder } from 'kysely'
import { loadRolePasswords, type RolePasswords } from '../../shared/config/config.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import { ConfigError } from '../../shared/errors.ts'
import { withDatabase, type OutputOptions } from './context.ts'

export interface RoleNames {
  indexer: string
  api: string
  /** May add to the voucher queue on Postgres; undefined where there is none. */
  producer?: string | undefined
}

/** Each program has a role of its own, and none of them owns a table. */
const PRIVILEGES: Record<keyof RoleNames, { schemas: readonly string[]; tables: string }[]> = {
  indexer: [
    { schemas: ['ledger', 'projection', 'queue'], tables: 'select, insert, update, delete' },
    { schemas: ['migration', 'secrets'], tables: 'select' },
  ],
  api: [{ schemas: ['ledger', 'projection', 'migration'], tables: 'select' }],
  producer: [{ schemas: ['queue'], tables: 'select, insert, update, delete' }],
}

/** Creates the programs' roles where their passwords are given, and grants each what it needs and nothing else. */
export async function runRoles(options: OutputOptions & RoleNames): Promise<void> {
  const { json, ...names } = options
  const passwords = loadRolePasswords()
  await withDatabase(async ({ db }) => {
    const schemas = await ownSchemas(db)
    for (const [program, role] of entriesOf(names)) {
      await putRole(db, role, passwords[program], program)
      await inTransaction(db, async (trx) => {
        for (const statement of grants(program, role, schemas)) await statement.execute(trx)
      })
      if (json !== true) console.log(`${role}: may do what ${article(program)} needs`)
    }
    if (json === true) console.log(JSON.stringify(names))
  })
}

function entriesOf(names: RoleNames): [keyof RoleNames, string][] {
  return (['indexer', 'api', 'producer'] as const).flatMap((program) => {
    const role = names[program]
    return role === undefined ? [] : [[program, role] satisfies [keyof RoleNames, string]]
  })
}

function article(program: keyof RoleNames): string {
  return program === 'producer' ? 'a producer of vouchers' : `the ${program === 'api' ? 'API' : program}`
}

/** Throws a ConfigError when the role does not exist and no password was given to create it with. */
async function putRole(
  db: Db,
  role: string,
  password: string | undefined,
  program: keyof RolePasswords,
): Promise<void> {
  const { rows } = await sql`select 1 from pg_roles where rolname = ${role}`.execute(db)
  if (password === undefined) {
    if (rows.length > 0) return
    throw new ConfigError(
      `there is no role ${role}: create it (create role … login password …), or set ${program.toUpperCase()}_PASSWORD`,
    )
  }
  const verb = rows.length > 0 ? sql`alter` : sql`create`
  await sql`${verb} role ${sql.id(role)} login password ${sql.lit(password)}`.execute(db)
}

/** The service's schemas that exist here. */
async function ownSchemas(db: Db): Promise<string[]> {
  const all = Object.values(PRIVILEGES).flatMap((parts) => parts.flatMap(({ schemas }) => schemas))
  const { rows } = await sql<{ name: string }>`
    select nspname as name from pg_namespace where nspname = any(${[...new Set(all)]}::text[])`.execute(db)
  return rows.map(({ name }) => name)
}

/** Starts from nothing, so that a role keeps no privilege that an earlier version gave it. */
function grants(program: keyof RoleNames, role: string, existing: string[]): RawBuilder<unknown>[] {
  const to = sql.id(role)
  const revoked = existing.flatMap((schema) => [
    sql`revoke all on all tables in schema ${sql.id(schema)} from ${to}`,
    sql`revoke all on all sequences in schema ${sql.id(schema)} from ${to}`,
    sql`revoke all on schema ${sql.id(schema)} from ${to}`,
  ])
  const granted = PRIVILEGES[program].flatMap(({ schemas, tables }) =>
    schemas
      .filter((schema) => existing.includes(schema))
      .flatMap((schema) => grantsIn(sql.id(schema), sql.raw(tables), tables.includes('insert'), to)),
  )
  return [...revoked, ...granted]
}

/** The tables that are there, and those that later migrations add. */
function grantsIn(
  schema: RawBuilder<unknown>,
  tables: RawBuilder<unknown>,
  writes: boolean,
  to: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const reading = [
    sql`grant usage on schema ${schema} to ${to}`,
    sql`grant ${tables} on all tables in schema ${schema} to ${to}`,
    sql`alter default privileges in schema ${schema} grant ${tables} on tables to ${to}`,
  ]
  if (!writes) return reading
  return [
    ...reading,
    sql`grant usage on all sequences in schema ${schema} to ${to}`,
    sql`alter default privileges in schema ${schema} grant usage on sequences to ${to}`,
  ]
}
