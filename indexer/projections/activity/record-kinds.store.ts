import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { ActivityRecord } from './activity.evolve.ts'

/** What thousands of records say alike: it stands once in the read model, and each of them names it by a number. */
export type RecordKind = Pick<
  ActivityRecord,
  'event' | 'loanType' | 'blockchain' | 'networkId' | 'contractAddress'
>

/**
 * Gives each record the number of its kind. A kind that is new gets the next number, in the order of the records: the
 * same log gives the same numbers. There are as many as the networks have contracts and events, a few dozens.
 */
export async function numberKinds<R extends RecordKind>(
  { trx, schema }: FoldContext,
  records: R[],
): Promise<(R & { kind: number })[]> {
  const table = sql.table(`${schema}.record_kinds`)
  const { rows } = await sql<RecordKind & { id: number }>`
    select id, event, loan_type as "loanType", blockchain, network_id as "networkId",
      contract_address as "contractAddress" from ${table}`.execute(trx)
  const numbers = new Map(rows.map((row) => [keyOf(row), row.id]))
  let last = Math.max(0, ...numbers.values())
  const fresh: (RecordKind & { id: number })[] = []
  const numbered = records.map((record) => {
    const key = keyOf(record)
    let kind = numbers.get(key)
    if (kind === undefined) {
      kind = last += 1
      numbers.set(key, kind)
      fresh.push({ ...record, id: kind })
    }
    return Object.assign(record, { kind })
  })
  if (fresh.length > 0) {
    await sql`
      insert into ${table} (id, event, loan_type, blockchain, network_id, contract_address)
      select id, event, "loanType", blockchain, "networkId", "contractAddress"
      from jsonb_to_recordset(${JSON.stringify(fresh)}::jsonb) as said(id integer, event text, "loanType" text,
        blockchain text, "networkId" text, "contractAddress" text)`.execute(trx)
  }
  return numbered
}

/** The blockchain's name alone may have a space. */
function keyOf({ event, loanType, blockchain, networkId, contractAddress }: RecordKind): string {
  return `${event} ${loanType} ${networkId} ${contractAddress ?? ''} ${blockchain}`
}
