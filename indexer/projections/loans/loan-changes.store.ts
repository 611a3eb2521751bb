import type { HeldEntry, LogEntry } from '../../../shared/events/log-entry.ts'
import type { PlaceInChain } from '../../../shared/events/event-place.ts'
import { groupBy } from '../../../shared/group-by.ts'
import type { FoldContext } from '../projection.ts'
import { stepsOf } from '../segments.evolve.ts'
import type { Change, StoredLoan } from './loan-rows.store.ts'
import { evolveLoan, isAfter, type Loan } from './loans.evolve.ts'

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
      .filter(([subject, entries]) => !inOrder(stored.get(subject)?.loan, entries))
      .map(([subject]) => subject),
  )
  const held = anew.size === 0 ? [] : await context.heldEntriesOf([...anew])
  const heldOf = groupBy(held, ({ subject }) => subject)
  return [...entriesOf].map(([subject, entries]) =>
    fold(subject, stored.get(subject), entries, anew.has(subject) ? (heldOf.get(subject) ?? []) : undefined),
  )
}

/** Whether the entries can be folded one by one onto the stored loan. */
function inOrder(loan: Loan | undefined, entries: LogEntry[]): boolean {
  let last: PlaceInChain | null =
    loan === undefined ? null : { blockNumber: loan.lastBlock, logIndex: loan.lastLogIndex }
  for (const entry of entries) {
    if (entry.op !== 'append' || !isAfter(entry.event, last)) return false
    last = entry.event
  }
  return true
}

/**
 * Folds step by step: updatedAt is the time of the last step with a change, however the log is cut. A step that does
 * not continue the loan folds it again from `held`, which reaches up to the last step.
 */
function fold(
  subject: string,
  before: StoredLoan | undefined,
  entries: LogEntry[],
  held: HeldEntry[] | undefined,
): Change {
  const { position, recordedAt } = firstOf(entries)
  let loan = before?.loan
  let updatedAt = before?.updatedAt ?? recordedAt
  const become = (next: Loan | undefined, at: Date): void => {
    if (!saysTheSame(loan, next)) updatedAt = at
    loan = next
  }
  for (const step of held === undefined ? [entries] : stepsOf(entries)) {
    if (inOrder(loan, step)) {
      for (const entry of step) become(evolveLoan(loan, entry), entry.recordedAt)
    } else {
      become(foldAnew(subject, held, step), firstOf(step).recordedAt)
    }
  }
  return {
    subject,
    loan,
    before,
    firstPosition: position,
    createdAt: before?.createdAt ?? recordedAt,
    updatedAt,
  }
}

/**
 * The loan after a step. Several steps are folded at once only if all append, so `held` contains every earlier state.
 */
function foldAnew(subject: string, held: HeldEntry[] | undefined, step: LogEntry[]): Loan | undefined {
  const last = step.at(-1)?.position
  if (held === undefined || last === undefined) throw new Error(`what holds of ${subject} was not read`)
  return held.filter(({ position }) => position <= last).reduce<Loan | undefined>(evolveLoan, undefined)
}

function saysTheSame(a: Loan | undefined, b: Loan | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.part === b.part || sameTexts(a.part, b.part)
}

/** Parts are flat: texts and nulls only. */
function sameTexts<P extends object>(a: P, b: P): boolean {
  for (const name in a) if (a[name] !== b[name]) return false
  for (const name in b) if (!(name in a)) return false
  return true
}

function firstOf(entries: LogEntry[]): LogEntry {
  const [first] = entries
  if (first === undefined) throw new Error('a loan changes by at least one entry')
  return first
}
