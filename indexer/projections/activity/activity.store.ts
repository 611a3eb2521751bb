import { sql } from 'kysely'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { IDS_PER_ENTRY, type FoldContext, type Projection } from '../projection.ts'
import { recordOf } from './activity.evolve.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { deleteRecords, insertRecords, type NewRecord } from './activity-rows.store.ts'
import { numbersOfKinds } from './record-kinds.store.ts'

/** The history: one record per event, ids in the order in which they became visible. */
export const activityProjection: Projection = {
  name: 'activity',
  apply: async (context, segment) => {
    // What payment channels show follows from the loans that they belong to, and comes after those.
    const entries = segment.filter((entry) => !isAboutChannel(entry))
    const having = (op: LogEntry['op']): LogEntry[] => entries.filter((entry) => entry.op === op)
    await deleteRecords(context, having('retract').map(recordId))
    await correctRecords(context, having('replace'))
    await insertRecords(context, newRecordsOf(having('append')))
  },
}

/** A record that moved to another branch keeps its id and createdAt; updatedAt tells when what it says changed. */
async function correctRecords(context: FoldContext, entries: LogEntry[]): Promise<void> {
  const { trx, schema } = context
  const records = newRecordsOf(entries)
  if (records.length === 0) return
  const kinds = await numbersOfKinds(
    context,
    records.map(({ kind }) => kind),
  )
  const said = records.map(({ id, loanId, at }, index) => ({ id, kind: kinds[index], loanId, at }))
  await sql`
    update ${sql.table(`${schema}.activity`)} as record set
      loan_id = said."loanId", kind = said.kind, updated_at = said.at
    from jsonb_to_recordset(${JSON.stringify(said)}::jsonb) as said(
      id bigint, kind integer, "loanId" text, at timestamptz)
    where record.id = said.id and (record.loan_id, record.kind) <> (said."loanId", said.kind)`.execute(trx)
}

/** In the order of the entries; none of one that shows in no history. */
function newRecordsOf(entries: LogEntry[]): NewRecord[] {
  const records: NewRecord[] = []
  // No `flatMap`: node 20 takes many times as long for one as for this.
  for (const entry of entries) {
    const record = newRecordOf(entry)
    if (record !== undefined) records.push(record)
  }
  return records
}

function newRecordOf(entry: LogEntry): NewRecord | undefined {
  const record = recordOf(entry)
  if (record === undefined) return undefined
  const { txHash, loanId, kind } = record
  const { recordedAt: at } = entry
  // Name by name: a copy takes node 20 as long as all else here.
  return { id: recordId(entry), ofChannel: null, at, txHash, loanId, kind }
}

/** From the entry that made the record visible, whatever was said of it since. */
function recordId({ origin, position }: LogEntry): number {
  return (origin ?? position) * IDS_PER_ENTRY
}
