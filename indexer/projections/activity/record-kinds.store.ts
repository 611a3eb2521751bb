import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { RecordKind } from './activity.evolve.ts'

/** Kinds of which no two say the same, a few dozens. */
export class DistinctKinds<K extends RecordKind = RecordKind> {
  /** By event, so that no text has to be made for each of thousands of records. */
  readonly #ofEvent = new Map<string, K[]>()

  /** The one that says the same. */
  find(kind: RecordKind): K | undefined {
    const kinds = this.#ofEvent.get(kind.event)
    if (kinds === undefined) return undefined
    for (const one of kinds) {
      if (
        one.contractAddress === kind.contractAddress &&
        one.networkId === kind.networkId &&
        one.loanType === kind.loanType &&
        one.blockchain === kind.blockchain
      ) {
        return one
      }
    }
    return undefined
  }

  /** One that was not found. */
  add(kind: K): K {
    const kinds = this.#ofEvent.get(kind.event)
    if (kinds === undefined) this.#ofEvent.set(kind.event, [kind])
    else kinds.push(kind)
    return kind
  }
}

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
  const known = new DistinctKinds<NumberedKind>()
  for (const row of rows) known.add(row)
  let last = rows.reduce((most, { id }) => Math.max(most, id), 0)
  const fresh: NumberedKind[] = []
  const numbers = kinds.map((kind) => {
    const stored = known.find(kind)
    if (stored !== undefined) return stored.id
    const added = known.add({ id: (last += 1), ...kind })
    fresh.push(added)
    return added.id
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
