import type { Insertable } from 'kysely'
import type { RecordKindsTable } from '../../../shared/db/schema.ts'
import type { FoldContext } from '../projection.ts'
import type { RecordKind } from './activity.evolve.ts'

/**
 * Numbers of these kinds, one for each, in the same order. A new kind takes the next number in record order, so the
 * same log gives the same numbers. Their total is about the number of contracts times events: a few dozen.
 */
export async function numbersOfKinds(
  { trx, schema }: FoldContext,
  kinds: readonly RecordKind[],
): Promise<number[]> {
  const rows = await trx.withSchema(schema).selectFrom('record_kinds').selectAll().execute()
  const known = new Map(rows.map((row) => [keyOf(row), row.id]))
  let last = rows.reduce((most, { id }) => Math.max(most, id), 0)
  const fresh: Insertable<RecordKindsTable>[] = []
  const numbers = kinds.map((kind) => {
    const said = toColumns(kind)
    const key = keyOf(said)
    const stored = known.get(key)
    if (stored !== undefined) return stored
    last += 1
    known.set(key, last)
    fresh.push({ id: last, ...said })
    return last
  })
  if (fresh.length > 0) await trx.withSchema(schema).insertInto('record_kinds').values(fresh).execute()
  return numbers
}

type KindColumns = Omit<Insertable<RecordKindsTable>, 'id'>

function toColumns({ event, loanType, blockchain, networkId, contractAddress }: RecordKind): KindColumns {
  return {
    event,
    loan_type: loanType,
    blockchain,
    network_id: networkId,
    contract_address: contractAddress,
  }
}

function keyOf(kind: KindColumns): string {
  const { event, loan_type, blockchain, network_id, contract_address } = kind
  return JSON.stringify([event, loan_type, blockchain, network_id, contract_address])
}
