import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { packageVersion } from '../../shared/version.ts'
import { LIVE_SCHEMA, NEXT_SCHEMA } from './projection.ts'

/** Tables that queries may still read right after a switch. */
const OLD_SCHEMA = 'projection_old'
/** SQLSTATEs of a lock wait that timed out, and of a transaction that Postgres ended to resolve a deadlock. */
const [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED] = ['55P03', '40P01']
/** Milliseconds to wait for a lock; queries that arrive meanwhile wait as long. */
export const SHORT_WAIT_MS = 200
/** Longer than Postgres' `deadlock_timeout`, after which it ends an autovacuum that blocks a lock. */
export const LONG_WAIT_MS = 1_200

/** Whether a replay of this version was begun: another may fold otherwise, or fill other tables. */
export async function hasNextSchema(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_namespace
    where nspname = ${NEXT_SCHEMA} and obj_description(oid, 'pg_namespace') = ${await getBuild(db)}`.execute(
    db,
  )
  return rows.length > 0
}

/** The version of this package and the last migration. */
async function getBuild(db: Db | Trx): Promise<string> {
  const { rows } = await sql<{
    name: string
  }>`select max(name) as name from migration.kysely_migration`.execute(db)
  return `${packageVersion()}/${rows[0]?.name}`
}

/**
 * Tables filled by contract events. Most of their indexes are cheaper to build over existing rows, see {@link
 * missingIndexes}.
 */
const OF_CONTRACTS = ['activity', 'loans']
/** Indexes of those tables over the few channel rows: building them later would scan all rows. */
const OF_CHANNELS = ['activity_channel', 'activity_natural_key']

/** Yields one row per setting of a table `c`. */
const SETTINGS = sql.raw(
  `lateral (select option, split_part(option, '=', 1) = 'fillfactor' as is_room from unnest(c.reloptions) option) settings`,
)

/**
 * Creates empty tables with the live shape, settings, privileges and constraint names. Indexes that are cheaper to
 * build at the end are left out. Pages fill up completely until {@link leaveRoom}.
 */
export async function createNextSchema(db: Db): Promise<void> {
  await inTransaction(db, async (trx) => {
    await sql`create schema ${sql.id(NEXT_SCHEMA)}`.execute(trx)
    await sql`comment on schema ${sql.id(NEXT_SCHEMA)} is ${sql.lit(await getBuild(trx))}`.execute(trx)
    const { rows } = await sql<{ statement: string }>`
      with live as (
        select c.oid, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${LIVE_SCHEMA} and c.relkind = 'r'
      ), statements as (
        select 1 as phase, format('create table %I.%I (like %I.%I including defaults including generated including storage)',
          ${NEXT_SCHEMA}::text, relname, ${LIVE_SCHEMA}::text, relname) as statement from live
        union all
        select 2, format('alter table %I.%I add constraint %I %s', ${NEXT_SCHEMA}::text, relname, conname, pg_get_constraintdef(k.oid))
        from live join pg_constraint k on k.conrelid = live.oid and k.contype in ('p', 'u', 'c')
        union all
        select 3, replace(pg_get_indexdef(i.indexrelid), format(' ON %I.', ${LIVE_SCHEMA}::text), format(' ON %I.', ${NEXT_SCHEMA}::text))
        from live join pg_index i on i.indrelid = live.oid join pg_class c on c.oid = i.indexrelid
        where (live.relname <> all(${OF_CONTRACTS}::text[]) or c.relname = any(${OF_CHANNELS}::text[]))
          and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
        union all
        select 3, format('alter table %I.%I set (%s)', ${NEXT_SCHEMA}::text, live.relname, option)
        from live join pg_class c on c.oid = live.oid, ${SETTINGS} where not is_room
        union all
        select 3, format('grant %s on %I.%I to %s', a.privilege_type, ${NEXT_SCHEMA}::text, live.relname,
          case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end)
        from live join pg_class c on c.oid = live.oid, aclexplode(c.relacl) a where a.grantee <> c.relowner
        union all
        select 3, format('grant %s on schema %I to %s', a.privilege_type, ${NEXT_SCHEMA}::text,
          case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end)
        from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = ${LIVE_SCHEMA} and a.grantee <> n.nspowner
      )
      select statement from statements order by phase`.execute(trx)
    // The statements travel in one message, and Postgres runs them in order.
    await sql.raw(rows.map(({ statement }) => statement).join(';\n')).execute(trx)
    await sql`insert into ${sql.table(`${NEXT_SCHEMA}.fold_state`)} default values`.execute(trx)
  })
}

/**
 * Leaves pages as empty as those of the live read model from now on. Few existing rows change again, and each leaves
 * its full page when it does.
 */
export async function leaveRoom(db: Db): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    select format('alter table %I.%I set (%s)', ${NEXT_SCHEMA}::text, relname, option) as statement
    from pg_class c, ${SETTINGS}
    where relnamespace = ${LIVE_SCHEMA}::regnamespace and relkind = 'r' and is_room and not exists (
      select from pg_class next where next.relnamespace = ${NEXT_SCHEMA}::regnamespace and next.relname = c.relname
        and option = any(next.reloptions))`.execute(db)
  for (const { statement } of rows) await sql.raw(statement).execute(db)
}

/** Names of the live read model's indexes that the next one lacks, table by table, the largest first. */
export async function missingIndexes(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select live.relname as name from pg_class live join pg_index i on i.indexrelid = live.oid
      join pg_class of on of.oid = i.indrelid
      left join pg_class rows on rows.relnamespace = ${NEXT_SCHEMA}::regnamespace and rows.relname = of.relname
    where live.relnamespace = ${LIVE_SCHEMA}::regnamespace and not exists (
      select from pg_class next where next.relnamespace = ${NEXT_SCHEMA}::regnamespace and next.relname = live.relname)
    order by coalesce(pg_relation_size(rows.oid), 0) desc, of.relname, live.relname`.execute(db)
  return rows.map(({ name }) => name)
}

/** Postgres finishes the index of a smaller table before its parallel workers start. */
const WORTH_WORKERS = '256MB'

/** Builds one index of the live read model over the next one's existing rows. Several can be built at a time. */
export async function makeIndex(db: Db, name: string): Promise<void> {
  await inTransaction(db, async (trx) => {
    await sql`set local min_parallel_table_scan_size = ${sql.lit(WORTH_WORKERS)}`.execute(trx)
    const { rows } = await sql<{ statement: string }>`
      select replace(pg_get_indexdef(oid), format(' ON %I.', ${LIVE_SCHEMA}::text), format(' ON %I.', ${NEXT_SCHEMA}::text))
        as statement
      from pg_class where relnamespace = ${LIVE_SCHEMA}::regnamespace and relname = ${name}`.execute(trx)
    for (const { statement } of rows) await sql.raw(statement).execute(trx)
  })
}

export async function dropNextSchema(db: Db): Promise<void> {
  await sql`drop schema if exists ${sql.id(NEXT_SCHEMA)} cascade`.execute(db)
}

/**
 * Makes the new tables the read model when this transaction commits. Locks the old tables first: a statement over
 * several tables could otherwise see both old and new ones. Running queries finish on the old tables; later ones wait
 * for the new.
 */
export async function switchSchemas(trx: Trx): Promise<void> {
  await lockReadModel(trx, SHORT_WAIT_MS)
  await sql`alter schema ${sql.id(LIVE_SCHEMA)} rename to ${sql.id(OLD_SCHEMA)}`.execute(trx)
  await sql`alter schema ${sql.id(NEXT_SCHEMA)} rename to ${sql.id(LIVE_SCHEMA)}`.execute(trx)
}

/**
 * Locks the tables against all queries until the transaction ends. Rejects with a code that {@link unlessRead} handles.
 */
export async function lockReadModel(trx: Trx, waitMs: number): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(waitMs)}`.execute(trx)
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = ${LIVE_SCHEMA}::regnamespace and relkind = 'r' order by 1`.execute(
    trx,
  )
  const tables = rows.map(({ name }) => sql.table(`${LIVE_SCHEMA}.${name}`))
  await sql`lock table ${sql.join(tables)} in access exclusive mode`.execute(trx)
}

/** Not part of the switch: dropping takes longer than queries should wait. */
export async function dropOldSchema(db: Db): Promise<void> {
  const isDropped = (): Promise<boolean> =>
    unlessRead(db, async (trx) => {
      await sql`set local lock_timeout = ${sql.lit(SHORT_WAIT_MS)}`.execute(trx)
      await sql`drop schema if exists ${sql.id(OLD_SCHEMA)} cascade`.execute(trx)
    })
  while (!(await isDropped())) await sleep(100)
}

/** Returns false if the transaction did not get its locks: others held them too long, or a deadlock ended it. */
export async function unlessRead(db: Db, work: (trx: Trx) => Promise<void>): Promise<boolean> {
  try {
    await inTransaction(db, work)
    return true
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code !== LOCK_NOT_AVAILABLE && code !== DEADLOCK_DETECTED) throw error
    return false
  }
}
