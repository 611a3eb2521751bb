import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** Leaves the evidence of a network's first and last two blocks, as if none of those between were read. Returns how many. */
export async function forgetRanges(db: Db, network: string): Promise<number> {
  const { rows } = await sql<{ missing: number }>`
    with old as (delete from ledger.ranges_read where network = ${network} returning *),
      whole as (select min(from_number) as first, max(to_number) as last from old),
      kept as (
        insert into ledger.ranges_read (network, from_number, to_number, endpoints, checks, counts, read_at)
        select ${network}, block, block + 1, array['1'], array['receipts'], array[2], now()
        from whole cross join unnest(array[first, last - 1]) as ends(block)
      )
    select last - first - 3 as missing from whole`.execute(db)
  return rows[0]?.missing ?? 0
}
