import type { HeldEntry, LogEntry } from '../../../shared/events/log-entry.ts'
import { groupBy } from '../../../shared/group-by.ts'
import { foldSteps, isInOrder } from '../../../shared/loans/loan-steps.evolve.ts'
import type { FoldContext } from '../projection.ts'
import type { Change, StoredLoan } from './loan-rows.store.ts'

/**
 * The changes that a segment's entries make to these loans. Entries that do not continue the stored loan require a fold
 * from the log.
 */
export async function changesOf(
  context: FoldContext,
  entriesOf: ReadonlyMap<string, LogEntry[]>,
  stored: ReadonlyMap<string, StoredLoan>,
): Promise<Change[]> {
  const anew = new Set(
    [...entriesOf]
      .filter(([subject, entries]) => !isInOrder(stored.get(subject)?.loan, entries))
      .map(([subject]) => subject),
  )
  const held = anew.size === 0 ? [] : await context.heldEntriesOf([...anew])
  const heldOf = groupBy(held, ({ subject }) => subject)
  return [...entriesOf].map(([subject, entries]) =>
    fold(subject, stored.get(subject), entries, anew.has(subject) ? (heldOf.get(subject) ?? []) : undefined),
  )
}

function fold(
  subject: string,
  before: StoredLoan | undefined,
  entries: LogEntry[],
  held: HeldEntry[] | undefined,
): Change {
  const [first] = entries
  if (first === undefined) throw new Error('a loan changes by at least one entry')
  return {
    subject,
    ...foldSteps(before, entries, held),
    before,
    firstPosition: first.position,
    createdAt: before?.createdAt ?? first.recordedAt,
  }
}
