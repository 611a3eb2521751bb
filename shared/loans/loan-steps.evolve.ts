import type { HeldEntry, LogEntry } from '../events/log-entry.ts'
import type { PlaceInChain } from '../events/event-place.ts'
import { stepsOf } from '../events/entry-steps.ts'
import { evolveLoan, isAfter, type Loan } from './loans.evolve.ts'

/** A loan and the time of its last change; `loan` is undefined while none of its events holds. */
export interface TimedLoan {
  loan: Loan | undefined
  updatedAt: Date
}

/** The loan after a step; `position` is that of its last entry there. */
export interface LoanVersion {
  loan: Loan | undefined
  position: number
}

/** Whether the entries can be folded one by one onto the loan. */
export function isInOrder(loan: Loan | undefined, entries: LogEntry[]): boolean {
  let last: PlaceInChain | null =
    loan === undefined ? null : { blockNumber: loan.lastBlock, logIndex: loan.lastLogIndex }
  for (const entry of entries) {
    if (entry.op !== 'append' || !isAfter(entry.event, last)) return false
    last = entry.event
  }
  return true
}

/**
 * Folds a loan's entries step by step: updatedAt is the time of the last step with a change, however the log is cut. A
 * step that does not continue the loan folds it again from `held`, which reaches up to the last step.
 */
export function foldSteps(
  before: TimedLoan | undefined,
  entries: LogEntry[],
  held: HeldEntry[] | undefined,
): TimedLoan & { versions: LoanVersion[] } {
  let loan = before?.loan
  let updatedAt = before?.updatedAt ?? firstOf(entries).recordedAt
  const become = (next: Loan | undefined, at: Date): void => {
    if (!saysTheSame(loan, next)) updatedAt = at
    loan = next
  }
  const versions: LoanVersion[] = []
  for (const step of stepsOf(entries)) {
    if (isInOrder(loan, step)) {
      for (const entry of step) become(evolveLoan(loan, entry), entry.recordedAt)
    } else {
      become(foldAnew(held, step), firstOf(step).recordedAt)
    }
    versions.push({ loan, position: step.at(-1)?.position ?? 0 })
  }
  return { loan, updatedAt, versions }
}

/**
 * The loan after a step. Several steps are folded at once only if all append, so `held` contains every earlier state.
 */
function foldAnew(held: HeldEntry[] | undefined, step: LogEntry[]): Loan | undefined {
  const last = step.at(-1)?.position
  if (held === undefined || last === undefined)
    throw new Error(`the entries that hold for ${step[0]?.subject ?? 'a loan'} were not read`)
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
