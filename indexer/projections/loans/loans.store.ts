import type { LogEntry } from '../../../shared/events/log-entry.ts'
import type { Projection } from '../projection.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { changesOf } from './loan-changes.store.ts'
import { getLoans, writeChanges } from './loan-rows.store.ts'

/** The contract's half of every loan. */
export const loansProjection: Projection = {
  name: 'loans',
  apply: async (context, segment) => {
    const entriesOf = groupBySubject(segment)
    const subjects = [...entriesOf.keys()]
    const stored = await getLoans(context, subjects)
    await writeChanges(context, await changesOf(context, entriesOf, stored))
  },
}

function groupBySubject(segment: LogEntry[]): Map<string, LogEntry[]> {
  const groups = new Map<string, LogEntry[]>()
  const add = (subject: string | null, entry: LogEntry): void => {
    if (subject === null || isAboutChannel(entry)) return
    const group = groups.get(subject)
    if (group === undefined) groups.set(subject, [entry])
    else group.push(entry)
  }
  for (const entry of segment) {
    add(entry.subject, entry)
    add(entry.previousSubject, entry)
  }
  return groups
}
