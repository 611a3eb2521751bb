import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { ActivityRecord } from './activity.evolve.ts'

/** What thousands of records say alike: it stands once in the read model, and each of them names it by a number. */
export type RecordKind = Pick<
  ActivityRecord,
  'event' | 'loanType' | 'blockchain' | 'networkId' | 'contractAddress'
>

type NumberedKind = RecordKind & { id: number }

/**
 * The numbers of the kinds of records, one for each. A kind that is new gets the next number, in the order of the records:
 * the same log gives the same numbers. There are as many as the networks have contracts and events, a few dozens.
 */
export async function numbersOfKinds(
  { trx, schema }: FoldContext,
  records: readonly RecordKind[],
): Promise<number[]> {
  const table = sql.table(`${schema}.record_kinds`)
  const { rows } = await sql<NumberedKind>`
    select id, event, loan_type as "loanType", blockchain, network_id as "networkId",
      contract_address as "contractAddress" from ${table}`.execute(trx)
  // By event, so that no text has to be made for each of thousands of records.
  const known = new Map<string, NumberedKind[]>()
  const learn = (kind: NumberedKind): void => {
    const ofEvent = known.get(kind.event)
    if (ofEvent === undefined) known.set(kind.event, [kind])
    else ofEvent.push(kind)
  }
  for (const row of rows) learn(row)
  let last = rows.reduce((most, { id }) => Math.max(most, id), 0)
  const fresh: NumberedKind[] = []
  const numbers = records.map((record) => {
    const stored = find(known.get(record.event), record)
    if (stored !== undefined) return stored.id
    const { event, loanType, blockchain, networkId, contractAddress } = record
    const added = { id: (last += 1), event, loanType, blockchain, networkId, contractAddress }
    learn(added)
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

function find(kinds: readonly NumberedKind[] | undefined, record: RecordKind): NumberedKind | undefined {
  if (kinds === undefined) return undefined
  for (const kind of kinds) {
    if (
      kind.contractAddress === record.contractAddress &&
      kind.networkId === record.networkId &&
      kind.loanType === record.loanType &&
      kind.blockchain === record.blockchain
    ) {
      return kind
    }
  }
  return undefined
}
