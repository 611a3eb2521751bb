import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/**
 * Returns errors in the numbers that locate pages of the history. These are the places within the ranges of the log,
 * the counts before each range at every level, and the total. The expected numbers are counted here from the ids alone.
 */
export async function miscounts(db: Db): Promise<string[]> {
  const { rows } = await sql<{ problem: string }>`
    with levels(level, width) as (
      values (0, 512000000::bigint), (1, 512 * 512000000::bigint), (2, 512 * 512 * 512000000::bigint)
    ), nodes as (
      select level, id / width as number, case level when 2 then 0 else id / width / 512 end as parent, count(*) as records
      from projection.activity cross join levels group by 1, 2, 3
    ), truth as (
      select level, number, parent, records,
        (sum(records) over (partition by level, parent order by number) - records)::bigint as before
      from nodes
    )
    select format('record %s has the place %s, not %s', id, slot, place) as problem
    from (select id, slot, row_number() over (partition by id / 512000000 order by id) as place from projection.activity) placed
    where slot <> place
    union all
    select format('level %s, stretch %s: %s records after %s, not %s after %s',
      level, number, ours.records, ours.before, truth.records, truth.before)
    from truth full join projection.activity_counts ours using (level, number, parent)
    where (ours.records, ours.before) is distinct from (truth.records, truth.before)
    union all
    select format('%s records are counted, there are %s', records, (select count(*) from projection.activity))
    from projection.fold_state where records <> (select count(*) from projection.activity)`.execute(db)
  return rows.map(({ problem }) => problem)
}
