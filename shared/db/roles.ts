import { sql, type RawBuilder } from 'kysely'
import type { Db } from './connect.ts'
import { inTransaction } from './transaction.ts'

/** Programs with a database role of their own; `producer` hands in vouchers through the queue on Postgres. */
export type RoleProgram = 'indexer' | 'api' | 'producer' | 'intake'

/** Privileges of each program's role; none of the roles owns a table. */
const PRIVILEGES: Record<RoleProgram, { schemas: readonly string[]; tables: string }[]> = {
  indexer: [
    { schemas: ['ledger', 'projection', 'queue'], tables: 'select, insert, update, delete' },
    { schemas: ['migration', 'secrets'], tables: 'select' },
  ],
  api: [{ schemas: ['ledger', 'projection', 'migration'], tables: 'select' }],
  producer: [{ schemas: ['queue'], tables: 'select, insert, update, delete' }],
  intake: [
    { schemas: ['ledger', 'migration'], tables: 'select' },
    { schemas: ['queue'], tables: 'select, insert, update, delete' },
  ],
}

export async function hasRole(db: Db, role: string): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_roles where rolname = ${role}`.execute(db)
  return rows.length > 0
}

/** Creates the role, or changes the password of an existing one. */
export async function putRole(db: Db, role: string, password: string): Promise<void> {
  const verb = (await hasRole(db, role)) ? sql`alter` : sql`create`
  await sql`${verb} role ${sql.id(role)} login password ${sql.lit(password)}`.execute(db)
}

/** Grants a program's role what it needs, and revokes every other privilege on the service's schemas. */
export async function grantRole(db: Db, program: RoleProgram, role: string): Promise<void> {
  const schemas = await ownSchemas(db)
  await inTransaction(db, async (trx) => {
    for (const statement of grants(program, role, schemas)) await statement.execute(trx)
  })
}

/** A privilege that a role lacks, or has beyond its program's needs. */
export interface RoleFault {
  is: 'lacks' | 'has'
  privilege: string
  schema: string
  /** Tables of the schema that it concerns. */
  tables: number
}

/** Compares the role's privileges on the tables of the service's schemas with those that its program needs. */
export async function checkRole(db: Db, program: RoleProgram, role: string): Promise<RoleFault[]> {
  const schemas = await ownSchemas(db)
  const { rows } = await sql<{ schema: string; privilege: string; has: boolean; tables: number }>`
    select schema.nspname as schema, privilege,
      has_schema_privilege(${role}, schema.oid, 'usage') and has_table_privilege(${role}, one.oid, privilege) as has,
      count(*)::int as tables
    from pg_class as one join pg_namespace as schema on schema.oid = one.relnamespace,
      unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege
    where one.relkind in ('r', 'p') and schema.nspname = any(${schemas}::text[])
    group by 1, 2, 3 order by 1, 2`.execute(db)
  return rows.flatMap(({ schema, privilege, has, tables }) => {
    const isNeeded = PRIVILEGES[program].some(
      (part) => part.schemas.includes(schema) && part.tables.split(', ').includes(privilege),
    )
    return has === isNeeded
      ? []
      : [{ is: has ? ('has' as const) : ('lacks' as const), privilege, schema, tables }]
  })
}

/** The service's schemas that exist in this database. */
async function ownSchemas(db: Db): Promise<string[]> {
  const all = Object.values(PRIVILEGES).flatMap((parts) => parts.flatMap(({ schemas }) => schemas))
  const { rows } = await sql<{ name: string }>`
    select nspname as name from pg_namespace where nspname = any(${[...new Set(all)]}::text[])`.execute(db)
  return rows.map(({ name }) => name)
}

/** Revokes everything first, so that a role keeps no privilege from an earlier version. */
function grants(program: RoleProgram, role: string, existing: string[]): RawBuilder<unknown>[] {
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

/** Includes the tables that later migrations add. */
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
