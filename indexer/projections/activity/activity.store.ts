import { sql } from 'kysely'
import { unnest } from '../../../shared/db/unnest.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { IDS_PER_ENTRY, type FoldContext, type Projection } from '../projection.ts'
import { recordOf } from './activity.evolve.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { deleteRecords, insertRecords, type NewRecord } from './activity-rows.store.ts'
import { numbersOfKinds } from './record-kinds.store.ts'

/** The history: one record per event, with ids in the order in which records became visible. */
export const activityProjection: Projection = {
  name: 'activity',
  apply: async (context, segment) => {
    // The channels projection adds channel records later, because they depend on the loans.
    const entries = segment.filter((entry) => !isAboutChannel(entry))
    const having = (op: LogEntry['op']): LogEntry[] => entries.filter((entry) => entry.op === op)
    await deleteRecords(context, having('retract').map(recordId))
    await correctRecords(context, having('replace'))
    await insertRecords(context, newRecordsOf(having('append')))
  },
}

/** A record that moved to another fork keeps its id and createdAt; updatedAt changes only with its content. */
async function correctRecords(context: FoldContext, entries: LogEntry[]): Promise<void> {
  const { trx, schema } = context
  const records = newRecordsOf(entries)
  if (records.length === 0) return
  const kinds = await numbersOfKinds(
    context,
    records.map(({ kind }) => kind),
  )
  const said = records.map(({ id, loanId, at }, index) => ({
    id,
    loan_id: loanId,
    kind: kinds[index] ?? null,
    at: at.toISOString(),
  }))
  await trx
    .withSchema(schema)
    .updateTable('activity')
    .from(unnest('said', { id: 'bigint', loan_id: 'text', kind: 'integer', at: 'timestamptz' }, said))
    .set((eb) => ({
      loan_id: eb.ref('said.loan_id'),
      kind: eb.ref('said.kind').$notNull(),
      updated_at: sql<Date>`said.at`,
    }))
    .whereRef('activity.id', '=', 'said.id')
    .where(sql<boolean>`(activity.loan_id, activity.kind) <> (said.loan_id, said.kind)`)
    .execute()
}

/** Keeps the order of the entries and skips those without a record. */
function newRecordsOf(entries: LogEntry[]): NewRecord[] {
  return entries.flatMap((entry) => {
    const record = recordOf(entry)
    return record === undefined
      ? []
      : [{ ...record, id: recordId(entry), ofChannel: null, at: entry.recordedAt }]
  })
}

/** The entry that made the record visible determines its id; replacements do not change it. */
function recordId({ origin, position }: LogEntry): number {
  return (origin ?? position) * IDS_PER_ENTRY
}
