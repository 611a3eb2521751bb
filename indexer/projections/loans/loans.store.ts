import { overlapping } from '../../../shared/db/transaction.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import type { Projection } from '../projection.ts'
import { isAboutChannel } from '../segments.evolve.ts'
import { GatheredLoans } from './gathered-loans.store.ts'
import { changesOf, getHeldBySubject } from './loan-changes.store.ts'
import { getLoans, writeChanges } from './loan-rows.store.ts'

/** The contract's half of every loan. */
export const loansProjection: Projection = {
  name: 'loans',
  apply: async (context, segment) => {
    const entriesOf = groupBySubject(segment)
    const subjects = [...entriesOf.keys()]
    // What is corrected or taken back is folded anew in any case: asked for with what is stored, before the log is written.
    const corrected = subjects.filter((subject) => entriesOf.get(subject)?.some(({ op }) => op !== 'append'))
    const [stored, held] = await overlapping([
      getLoans(context, subjects),
      getHeldBySubject(context, corrected),
    ])
    await writeChanges(context, await changesOf(context, { entriesOf, stored, held }))
  },
  gather: () => new GatheredLoans(),
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
