import { sql, type RawBuilder } from 'kysely'
import type { Trx } from '../../../shared/db/transaction.ts'
import { IDS_PER_ENTRY, type ProjectionSchema } from '../projection.ts'

/**
 * A record's number in the history changes whenever an earlier record is removed, so no row stores it. A record stores
 * its slot within its stretch of the log, and each stretch counts the records before it. A removal costs the same with
 * a thousand records and with a hundred million.
 */

/**
 * Log entries in a stretch, stretches in a node of level 1, and those in one of level 2. The migration uses the same
 * value.
 */
const FAN_OUT = 512
const LEVELS = [0, 1, 2]

/** The number of the stretch that contains this record id. */
export function stretchOf(id: number): number {
  return Math.floor(id / (FAN_OUT * IDS_PER_ENTRY))
}

/** Counts records that follow all existing ones. Plain SQL, as below: hot, and the builder lacks the running sum. */
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

/** Subtracts removed records, wherever they were in the history. */
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

/** A subquery with the count of these records per node of each level. */
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

/**
 * A function of its own: beside an SQL statement, a long loop makes V8 compile the statement's construction many times.
 */
function countByStretch(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const id of ids) {
    const stretch = stretchOf(id)
    counts.set(stretch, (counts.get(stretch) ?? 0) + 1)
  }
  return counts
}
