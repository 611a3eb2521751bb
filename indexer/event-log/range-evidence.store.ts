import { sql } from 'kysely'
import type { RangeEvidence } from '../../shared/events/chain-step.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { joinRanges, partsWithout, proofOf } from './evidence.evolve.ts'

/** Rows of evidence that are kept apart. Older ones are merged, so that they do not grow with the chain. */
const RANGES_KEPT = 256

/**
 * Stores which endpoint answered for which blocks. A range that continues the last one, with the same endpoint and check,
 * extends it. A reorg or a second reading replaces the evidence of its blocks.
 */
export async function putEvidence(trx: Trx, network: string, ranges: RangeEvidence[]): Promise<void> {
  for (const range of ranges) {
    const check = proofOf(range.check)
    await cutEvidence(trx, network, range.from, range.to)
    const { numUpdatedRows } = await trx
      .updateTable('ledger.ranges_read')
      .set({
        to_number: range.to,
        counts: sql`array[(${range.to}::bigint - from_number + 1)::integer]`,
        read_at: sql`clock_timestamp()`,
      })
      .where('network', '=', network)
      .where('to_number', '=', range.from - 1)
      .where(sql<boolean>`(endpoints, checks) = (array[${range.endpoint}::text], array[${check}::text])`)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) continue
    await trx
      .insertInto('ledger.ranges_read')
      .values({
        network,
        from_number: range.from,
        to_number: range.to,
        endpoints: [range.endpoint],
        checks: [check],
        counts: [range.to - range.from + 1],
        read_at: sql`clock_timestamp()`,
      })
      .execute()
    await mergeOldEvidence(trx, network)
  }
}

/** Returns the blocks between the first and the last that was read, `from` … `to` (inclusive), that no evidence covers. */
export async function getGaps(db: Db, network: string): Promise<{ from: number; to: number }[]> {
  const { rows } = await sql<{ from: number; to: number }>`
    select * from (
      select lag(to_number) over (order by from_number) + 1 as "from", from_number - 1 as "to"
      from ledger.ranges_read where network = ${network}
    ) as between_ranges where "from" <= "to" order by "from"`.execute(db)
  return rows
}

/** Removes the evidence of all blocks above `number`. */
export async function forgetEvidenceAbove(trx: Trx, network: string, number: number): Promise<void> {
  await cutEvidence(trx, network, number + 1, Number.MAX_SAFE_INTEGER)
}

/** Removes the evidence of the blocks `from` … `to`, and keeps that of the blocks on either side. */
async function cutEvidence(trx: Trx, network: string, from: number, to: number): Promise<void> {
  const hit = await trx
    .deleteFrom('ledger.ranges_read')
    .where('network', '=', network)
    .where('from_number', '<=', to)
    .where('to_number', '>=', from)
    .returningAll()
    .execute()
  const parts = hit.flatMap((range) => partsWithout(range, from, to))
  if (parts.length > 0) await trx.insertInto('ledger.ranges_read').values(parts).execute()
}

/** Joins the oldest neighbours until few enough rows remain. A gap between ranges stays. */
async function mergeOldEvidence(trx: Trx, network: string): Promise<void> {
  const { count } = await trx
    .selectFrom('ledger.ranges_read')
    .select(sql<number>`count(*)`.as('count'))
    .where('network', '=', network)
    .executeTakeFirstOrThrow()
  if (count <= RANGES_KEPT) return
  const rows = await trx
    .selectFrom('ledger.ranges_read')
    .selectAll()
    .where('network', '=', network)
    .orderBy('from_number')
    .execute()
  let surplus = rows.length - RANGES_KEPT
  const joined: typeof rows = []
  for (const row of rows) {
    const last = joined.at(-1)
    if (surplus > 0 && last !== undefined && last.to_number + 1 === row.from_number) {
      joined[joined.length - 1] = { ...last, ...joinRanges(last, row) }
      surplus -= 1
    } else joined.push(row)
  }
  const changed = joined.filter((row) => !rows.includes(row))
  const ends = changed.map(
    ({ from_number, to_number }) => sql`(${from_number}::bigint, ${to_number}::bigint)`,
  )
  if (ends.length === 0) return
  await sql`delete from ledger.ranges_read as range using (values ${sql.join(ends)}) as joined(first, last)
    where network = ${network} and from_number between joined.first and joined.last`.execute(trx)
  await trx.insertInto('ledger.ranges_read').values(changed).execute()
}
