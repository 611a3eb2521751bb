import { sql, type RawBuilder } from 'kysely'
import type { Trx } from '../../../shared/db/transaction.ts'
import { IDS_PER_ENTRY, type ProjectionSchema } from '../projection.ts'

/**
 * Which number a record has in the history changes whenever an earlier one goes, and any may go: a channel that fitted a
 * loan turns out to be another's. So no record carries its number. It is counted: a record knows its place in its
 * stretch of the log, and the stretches know how many records come before them. What goes costs the same at a thousand
 * records and at a hundred million.
 */

/** Entries of the log in a stretch, stretches in one of level 1, and of those in one of level 2: as in the migration. */
const FAN_OUT = 512
const LEVELS = [0, 1, 2]

/** The number of the stretch that a record's id lies in. */
export function stretchOf(id: number): number {
  return Math.floor(id / (FAN_OUT * IDS_PER_ENTRY))
}

/** Counts records that were added after all others. */
export async function addToCounts(trx: Trx, schema: ProjectionSchema, ids: number[]): Promise<void> {
  const table = sql.table(`${schema}.activity_counts`)
  await sql`
    insert into ${table} (level, number, before, records)
    select level, number,
      coalesce((select before + counted.records from ${table} counted
        where counted.level = added.level and counted.parent = added.parent order by before desc limit 1), 0)
        + sum(records) over (partition by level, parent order by number) - records,
      records
    from ${nodesOf(ids)} added
    on conflict (level, number) do update set records = activity_counts.records + excluded.records`.execute(
    trx,
  )
}

/** Counts records no more, wherever they were. */
export async function removeFromCounts(trx: Trx, schema: ProjectionSchema, ids: number[]): Promise<void> {
  const table = sql.table(`${schema}.activity_counts`)
  await sql`
    delete from ${table} counted using ${nodesOf(ids)} gone
    where counted.level = gone.level and counted.number = gone.number and counted.records = gone.records`.execute(
    trx,
  )
  await sql`
    update ${table} counted set records = counted.records - own, before = counted.before - earlier
    from (
      select counted.level, counted.number,
        coalesce(sum(gone.records) filter (where gone.number = counted.number), 0) as own,
        coalesce(sum(gone.records) filter (where gone.number < counted.number), 0) as earlier
      from ${nodesOf(ids)} gone
      join ${table} counted
        on counted.level = gone.level and counted.parent = gone.parent and counted.number >= gone.number
      group by counted.level, counted.number
    ) changed
    where counted.level = changed.level and counted.number = changed.number`.execute(trx)
}

/** How many of these records lie in each stretch of each level. */
function nodesOf(ids: number[]): RawBuilder<unknown> {
  const byStretch = countByStretch(ids)
  return sql`(
    select level, stretch / width as number,
      case level when ${sql.lit(LEVELS.length - 1)} then 0 else stretch / width / ${sql.lit(FAN_OUT)} end as parent,
      sum(own)::bigint as records
    from unnest(${[...byStretch.keys()]}::bigint[], ${[...byStretch.values()]}::bigint[]) as stretches(stretch, own)
    cross join unnest(${LEVELS}::smallint[], ${LEVELS.map((level) => FAN_OUT ** level)}::bigint[]) as levels(level, width)
    group by 1, 2, 3
  )`
}

/** By itself: where a loop over thousands stands beside a statement, V8 compiles the making of the statement for it, many times over. */
function countByStretch(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const id of ids) {
    const stretch = stretchOf(id)
    counts.set(stretch, (counts.get(stretch) ?? 0) + 1)
  }
  return counts
}
