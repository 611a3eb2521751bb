import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { IDS_PER_ENTRY, type Projection } from '../projection.ts'
import { recordOf } from './activity.evolve.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { correctRecords, deleteRecords, insertRecords, type NewRecord } from './activity-rows.store.ts'

/** The history: one record per event, with ids in the order in which records became visible. */
export const activityProjection: Projection = {
  name: 'activity',
  apply: async (context, segment) => {
    // The channels projection adds channel records later, because they depend on the loans.
    const entries = segment.filter((entry) => !isAboutChannel(entry))
    const having = (op: LogEntry['op']): LogEntry[] => entries.filter((entry) => entry.op === op)
    await deleteRecords(context, having('retract').map(recordId))
    await correctRecords(context, newRecordsOf(having('replace')))
    await insertRecords(context, newRecordsOf(having('append')))
  },
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
