import { sql, type AliasedRawBuilder, type RawBuilder } from 'kysely'

type ColumnType = 'text' | 'bigint' | 'integer' | 'timestamptz'
type Columns<R> = Readonly<Record<keyof R & string, ColumnType>>
type Row = Record<string, string | number | null>

/** A relation of these rows to join with. The statement has one parameter per column, however many rows there are. */
export function unnest<A extends string, R extends Row>(
  alias: A,
  columns: Columns<R>,
  rows: readonly R[],
): AliasedRawBuilder<R, A> {
  const relation = sql`${sql.id(alias)}(${sql.join(Object.keys(columns).map((name) => sql.id(name)))})`
  return sql<R>`unnest(${arraysOf(columns, rows)})`.as<A>(relation)
}

/** Whether the columns of a row are those of one of `rows`. */
export function isOneOf<R extends Row>(columns: Columns<R>, rows: readonly R[]): RawBuilder<boolean> {
  const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)))
  return sql<boolean>`(${names}) in (select * from unnest(${arraysOf(columns, rows)}))`
}

function arraysOf<R extends Row>(columns: Columns<R>, rows: readonly R[]): RawBuilder<unknown> {
  const arrays = Object.entries<ColumnType>(columns).map(
    ([name, type]) => sql`${rows.map((row) => row[name])}::${sql.raw(`${type}[]`)}`,
  )
  return sql.join(arrays)
}
