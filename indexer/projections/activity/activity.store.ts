import { sql } from 'kysely'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { IDS_PER_ENTRY, type FoldContext, type Projection } from '../projection.ts'
import { recordOf } from './activity.evolve.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { closeGaps } from './dense-position.store.ts'

/** The history: one record per event, ids in the order in which they became visible, positions without gaps. */
export const activityProjection: Projection = {
  name: 'activity',
  apply: async (context, segment) => {
    // What payment channels show follows from the loans that they belong to, and comes after those.
    const entries = segment.filter((entry) => !isAboutChannel(entry))
    const having = (op: LogEntry['op']): LogEntry[] => entries.filter((entry) => entry.op === op)
    await retractRecords(context, having('retract'))
    await correctRecords(context, having('replace'))
    await insertRecords(context, having('append'))
  },
}

async function retractRecords({ trx, schema, counters }: FoldContext, entries: LogEntry[]): Promise<void> {
  const [first] = entries
  if (first === undefined) return
  const { rows } = await sql<{ position: number }>`
    delete from ${sql.table(`${schema}.activity`)}
    where network = ${first.network} and natural_key = any(${entries.map((entry) => entry.naturalKey)})
    returning position`.execute(trx)
  await closeGaps(
    trx,
    schema,
    rows.map((row) => row.position),
  )
  counters.records -= rows.length
}

/** A record that moved to another branch keeps its id and createdAt; updatedAt tells when what it says changed. */
async function correctRecords({ trx, schema }: FoldContext, entries: LogEntry[]): Promise<void> {
  if (entries.length === 0) return
  const table = sql.table(`${schema}.activity`)
  await sql`
    update ${table} as record set
      loan_id = said.loan_id, blockchain = said.blockchain, contract_address = said.contract_address,
      updated_at = said.updated_at
    from jsonb_to_recordset(${toRows(entries)}::jsonb) as said(
      network text, natural_key text, loan_id text, blockchain text, contract_address text, updated_at timestamptz)
    where record.network = said.network and record.natural_key = said.natural_key
      and (record.loan_id, record.blockchain, record.contract_address)
        is distinct from (said.loan_id, said.blockchain, said.contract_address)`.execute(trx)
}

async function insertRecords({ trx, schema, counters }: FoldContext, entries: LogEntry[]): Promise<void> {
  const shown = entries.filter((entry) => recordOf(entry) !== undefined)
  if (shown.length === 0) return
  await sql`
    insert into ${sql.table(`${schema}.activity`)} (id, position, network, natural_key, tx_hash, event, loan_id, blockchain,
      network_id, contract_address, loan_type, created_at, updated_at)
    select id, ${counters.records}::bigint + ordinal, network, natural_key, tx_hash, event, loan_id, blockchain,
      network_id, contract_address, loan_type, updated_at, updated_at
    from jsonb_to_recordset(${toRows(shown)}::jsonb) as said(
      id bigint, ordinal bigint, network text, natural_key text, tx_hash text, event text, loan_id text, blockchain text,
      network_id text, contract_address text, loan_type text, updated_at timestamptz)`.execute(trx)
  counters.records += shown.length
}

function toRows(entries: LogEntry[]): string {
  const rows = entries.flatMap((entry) => {
    const record = recordOf(entry)
    return record === undefined ? [] : [{ entry, record }]
  })
  return JSON.stringify(
    rows.map(({ entry, record }, index) => ({
      id: entry.position * IDS_PER_ENTRY,
      ordinal: index + 1,
      network: entry.network,
      natural_key: entry.naturalKey,
      tx_hash: record.txHash,
      event: record.event,
      loan_id: record.loanId,
      blockchain: record.blockchain,
      network_id: record.networkId,
      contract_address: record.contractAddress,
      loan_type: record.loanType,
      updated_at: entry.recordedAt,
    })),
  )
}
