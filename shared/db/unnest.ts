import { sql, type AliasedRawBuilder } from 'kysely'

type ColumnType = 'text' | 'bigint' | 'integer' | 'timestamptz'

/** A relation of these rows to join with. The statement has one parameter per column, however many rows there are. */
export function unnest<A extends string, R extends Record<string, string | number | null>>(
  alias: A,
  columns: Readonly<Record<keyof R & string, ColumnType>>,
  rows: readonly R[],
): AliasedRawBuilder<R, A> {
  const names = Object.keys(columns) as (keyof R & string)[]
  const arrays = names.map((name) => sql`${rows.map((row) => row[name])}::${sql.raw(`${columns[name]}[]`)}`)
  const relation = sql`${sql.id(alias)}(${sql.join(names.map((name) => sql.id(name)))})`
  return sql<R>`unnest(${sql.join(arrays)})`.as<A>(relation)
}
