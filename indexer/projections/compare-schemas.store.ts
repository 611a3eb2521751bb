import { sql, type RawBuilder } from 'kysely'
import type { Trx } from '../../shared/db/transaction.ts'
import { digestSchema } from './digest.store.ts'
import { LIVE_SCHEMA, NEXT_SCHEMA } from './projection.ts'

export type ReadModelPart = 'record' | 'loan' | 'channel'

/** One row that the replayed read model would change. */
export interface RowDifference {
  part: ReadModelPart
  /** The record's id, the loan's type and number, or the channel's address. */
  name: string
  /** `added`: it is missing now; `removed`: only the read model in use has it. */
  is: 'added' | 'removed' | 'changed'
}

export interface PartDifferences {
  part: ReadModelPart
  added: number
  removed: number
  changed: number
  /** The first of them. */
  first: RowDifference[]
}

export interface Comparison {
  /** Whether all tables have the same rows, those of no part too. */
  isSame: boolean
  parts: PartDifferences[]
}

/** Rows named of each part and kind of difference at most. */
const MOST_NAMED = 100

/** A record as it is answered: kinds may be numbered otherwise. */
const recordsOf = (schema: string): RawBuilder<unknown> => sql`
  select one.id::text as name, concat_ws(' ', tx_hash, loan_id, json_before_loan, json_after_loan, created_at, updated_at)
    as content, one.id as place
  from ${sql.table(`${schema}.activity`)} as one join ${sql.table(`${schema}.record_kinds`)} as kind on kind.id = one.kind`
const loansOf = (schema: string): RawBuilder<unknown> => sql`
  select loan_type || ' ' || loan_id as name, one::text as content, id as place
  from ${sql.table(`${schema}.loans`)} as one`
const channelsOf = (schema: string): RawBuilder<unknown> => sql`
  select network || ' ' || robust as name, one::text as content, id as place
  from ${sql.table(`${schema}.channels`)} as one`

const PARTS: [ReadModelPart, (schema: string) => RawBuilder<unknown>][] = [
  ['record', recordsOf],
  ['loan', loansOf],
  ['channel', channelsOf],
]

/**
 * Compares the read model in use with the next one, as this transaction sees them. Reads all of both, and once more if no
 * row differs.
 */
export async function compareReadModels(trx: Trx): Promise<Comparison> {
  const parts = await compareParts(trx)
  if (parts.some(({ first }) => first.length > 0)) return { isSame: false, parts }
  const live = await digestSchema(trx, LIVE_SCHEMA)
  const next = await digestSchema(trx, NEXT_SCHEMA)
  return { isSame: live.digest === next.digest, parts }
}

async function compareParts(trx: Trx): Promise<PartDifferences[]> {
  const found: PartDifferences[] = []
  for (const [part, rowsOf] of PARTS) {
    const { rows } = await sql<{ name: string; is: RowDifference['is']; count: number }>`
      select name, "is", count::int from (
        select name, "is", count(*) over (partition by "is") as count,
          row_number() over (partition by "is" order by place, name) as nth
        from (
          select name, coalesce(live.place, next.place) as place, case when live.content is null then 'added'
            when next.content is null then 'removed' else 'changed' end as "is"
          from (${rowsOf(LIVE_SCHEMA)}) as live full join (${rowsOf(NEXT_SCHEMA)}) as next using (name)
          where live.content is distinct from next.content
        ) as differing
      ) as counted where nth <= ${MOST_NAMED} order by nth`.execute(trx)
    const count = (is: RowDifference['is']): number => rows.find((row) => row.is === is)?.count ?? 0
    found.push({
      ...{ part, added: count('added'), removed: count('removed'), changed: count('changed') },
      first: rows.map(({ name, is }) => ({ part, name, is })),
    })
  }
  return found
}
