import { sql } from 'kysely'
import type { Trx } from '../../../shared/db/transaction.ts'
import type { ProjectionSchema } from '../projection.ts'

/**
 * Moves the records after removed positions down, so that positions are 1 … n again and a page stays a range of
 * them. The cost is the number of records after the first gap: those of the blocks that a reorg can still touch.
 */
export async function closeGaps(trx: Trx, schema: ProjectionSchema, removed: number[]): Promise<void> {
  if (removed.length === 0) return
  const firstGap = removed.reduce((least, position) => Math.min(least, position))
  const table = sql.table(`${schema}.activity`)
  await sql`
    update ${table} as record set position = moved.position
    from (
      select id, ${firstGap}::bigint - 1 + row_number() over (order by position) as position
      from ${table} where position > ${firstGap}
    ) moved
    where record.id = moved.id and record.position <> moved.position`.execute(trx)
}
