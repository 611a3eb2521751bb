import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

const SCHEMAS = ['ledger', 'projection', 'secrets']

/**
 * Describes everything that migrations create in our schemas, one line each. It covers schemas, tables and their
 * settings, columns in order with types and defaults, constraints, indexes, triggers, functions and sequences. A line
 * shows a foreign owner and grants.
 */
export async function describeSchema(db: Db): Promise<string> {
  const { rows } = await sql<{ line: string }>`
    with spaces as (select oid, nspname, nspowner, nspacl from pg_namespace where nspname = any(${SCHEMAS})),
    relations as (
      select n.nspname || '.' || c.relname as name, c.* from pg_class c join spaces n on n.oid = c.relnamespace
    ),
    lines as (
      select nspname as place, 0 as kind, 0 as number, 'schema ' || nspname as said, nspowner as owner, nspacl::text as acl
        from spaces
      union all
      select name, 1, 0, 'table ' || name || coalesce(' with (' || array_to_string(reloptions, ', ') || ')', ''), relowner,
        relacl::text
        from relations where relkind = 'r'
      union all
      select name, 2, attnum, '  ' || attname || ' ' || format_type(atttypid, atttypmod)
          || case when attnotnull then ' not null' else '' end
          || case when attidentity = 'a' then ' generated always as identity' else '' end
          || case when attgenerated = 's' then ' generated as ' else ' default ' end
          || coalesce(regexp_replace(pg_get_expr(adbin, adrelid), '\\s+', ' ', 'g'), '-'),
        relowner, null
        from relations r join pg_attribute on attrelid = r.oid and attnum > 0 and not attisdropped
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where relkind = 'r'
      union all
      -- Since Postgres 18 a column's "not null" is a constraint as well.
      select name, 3, 0, '  constraint ' || conname || ' ' || pg_get_constraintdef(k.oid), relowner, null
        from relations r join pg_constraint k on conrelid = r.oid where contype <> 'n'
      union all
      select owning.name, 4, 0, '  index ' || pg_get_indexdef(i.oid), i.relowner, i.relacl::text
        from relations i join pg_index on indexrelid = i.oid join relations owning on owning.oid = indrelid
      union all
      select name, 5, 0, '  trigger ' || pg_get_triggerdef(g.oid), relowner, null
        from relations r join pg_trigger g on tgrelid = r.oid where not tgisinternal
      union all
      select nspname || '.' || proname, 6, 0, 'function ' || regexp_replace(pg_get_functiondef(p.oid), '\\s+', ' ', 'g'),
        proowner, proacl::text
        from pg_proc p join spaces n on n.oid = pronamespace
      union all
      select name, 7, 0, case relkind when 'S' then 'sequence ' else relkind::text || ' ' end || name, relowner, relacl::text from relations where relkind not in ('r', 'i')
    )
    select regexp_replace(said, ' default -$', '')
        || case when owner = (select oid from pg_roles where rolname = current_user) then '' else ' owner ' || owner::regrole end
        || coalesce(' acl ' || acl, '') as line
      from lines order by place collate "C", kind, number, said collate "C"`.execute(db)
  return rows.map(({ line }) => `${line.trimEnd()}\n`).join('')
}
