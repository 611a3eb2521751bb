import { sql } from 'kysely'
import type { RangeEvidence } from '../../shared/events/chain-step.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { joinRanges, partOfRange, proofOf } from './evidence.evolve.ts'

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

/** Removes the evidence of the blocks `from` … `to`, and keeps that of the blocks on either side. */
async function cutEvidence(trx: Trx, network: string, from: number, to: number): Promise<void> {
  const hit = await trx
    .deleteFrom('ledger.ranges_read')
    .where('network', '=', network)
    .where('from_number', '<=', to)
    .where('to_number', '>=', from)
    .returningAll()
    .execute()
  const parts = hit.flatMap((range) => [
    ...(range.from_number < from ? [{ ...range, ...partOfRange(range, range.from_number, from - 1) }] : []),
    ...(range.to_number > to ? [{ ...range, ...partOfRange(range, to + 1, range.to_number) }] : []),
  ])
  if (parts.length > 0) await trx.insertInto('ledger.ranges_read').values(parts).execute()
}

async function mergeOldEvidence(trx: Trx, network: string): Promise<void> {
  const oldest = await trx
    .selectFrom('ledger.ranges_read')
    .selectAll()
    .where('network', '=', network)
    .orderBy('from_number')
    .limit(RANGES_KEPT + 1)
    .execute()
  const [first, second] = oldest
  if (oldest.length <= RANGES_KEPT || first === undefined || second === undefined) return
  if (first.to_number + 1 !== second.from_number) return
  await trx
    .deleteFrom('ledger.ranges_read')
    .where('network', '=', network)
    .where('from_number', '=', second.from_number)
    .execute()
  await trx
    .updateTable('ledger.ranges_read')
    .set(joinRanges(first, second))
    .where('network', '=', network)
    .where('from_number', '=', first.from_number)
    .execute()
}
