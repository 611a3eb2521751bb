import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { RecordKind } from './activity.evolve.ts'

/** A kind as it stands once in the read model: each of its records names it by its number. */
type NumberedKind = RecordKind & { id: number }

/**
 * The numbers of the kinds of records, one for each. A kind that is new gets the next number, in the order of the records:
 * the same log gives the same numbers. There are as many as the networks have contracts and events, a few dozens.
 */
export async function numbersOfKinds(
  { trx, schema }: FoldContext,
  kinds: readonly RecordKind[],
): Promise<number[]> {
  const table = sql.table(`${schema}.record_kinds`)
  const { rows } = await sql<NumberedKind>`
    select id, event, loan_type as "loanType", blockchain, network_id as "networkId",
      contract_address as "contractAddress" from ${table}`.execute(trx)
  const known = new Map(rows.map((row) => [keyOf(row), row.id]))
  let last = rows.reduce((most, { id }) => Math.max(most, id), 0)
  const fresh: NumberedKind[] = []
  const numbers = kinds.map((kind) => {
    const key = keyOf(kind)
    const stored = known.get(key)
    if (stored !== undefined) return stored
    last += 1
    known.set(key, last)
    fresh.push({ id: last, ...kind })
    return last
  })
  if (fresh.length > 0) {
    await sql`
      insert into ${table} (id, event, loan_type, blockchain, network_id, contract_address)
      select id, event, "loanType", blockchain, "networkId", "contractAddress"
      from jsonb_to_recordset(${JSON.stringify(fresh)}::jsonb) as said(id integer, event text, "loanType" text,
        blockchain text, "networkId" text, "contractAddress" text)`.execute(trx)
  }
  return numbers
}

function keyOf({ event, loanType, blockchain, networkId, contractAddress }: RecordKind): string {
  return JSON.stringify([event, loanType, blockchain, networkId, contractAddress])
}
