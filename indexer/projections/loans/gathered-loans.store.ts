import type { AppendEntry, LogEntry } from '../../../shared/events/log-entry.ts'
import { overlapping } from '../../../shared/db/transaction.ts'
import type { FoldContext, GatheredSegment } from '../projection.ts'
import { changesOf, getHeldBySubject, lastOf, saysTheSame } from './loan-changes.store.ts'
import { getLoans, writeChanges, WrittenLoans, type ChangeOfOne } from './loan-rows.store.ts'
import { evolveLoan, isAfter, makesLoan } from './loans.evolve.ts'

/** As many loans that ended are not written down yet: one transaction may say more than one thing of a loan. */
const JUST_ENDED = 64

/** What is known of a loan so far; one that the segment makes by the position of the entry that does. */
type Known =
  | { is: 'made'; change: ChangeOfOne }
  /** Under a number. */
  | { is: 'written'; number: number; firstPosition: number }
  /** Something came that does not continue it. */
  | { is: 'to be read'; firstPosition: number }
  /** Something else is said of it first. */
  | { is: 'told'; entries: LogEntry[] }

/**
 * Loans by the entries that come one after the other. One that the first of them makes is folded at once, as if it were not stored,
 * and written down when it has ended; whether it is stored is asked when all are there. Where it is, or something comes that does
 * not continue it, its entries are read from the log once more.
 */
export class GatheredLoans implements GatheredSegment {
  readonly #loans = new WrittenLoans()
  readonly #known = new Map<string, Known>()
  readonly #justEnded = new Set<ChangeOfOne>()

  take(entry: AppendEntry): void {
    const { subject } = entry
    if (subject === null) return
    const known = this.#known.get(subject)
    switch (known?.is) {
      case 'made':
        this.#goOn(known.change, entry)
        return
      case 'written':
        this.#loans.drop(known.number)
        this.#known.set(subject, { is: 'to be read', firstPosition: known.firstPosition })
        return
      case 'told':
        known.entries.push(entry)
        return
      case 'to be read':
        return
      case undefined:
        this.#known.set(subject, begin(subject, entry))
        return
      default:
        known satisfies undefined
    }
  }

  async write(context: FoldContext): Promise<void> {
    for (const known of this.#known.values()) if (known.is === 'made') this.#writeDown(known.change)
    const stored = await getLoans(context, [...this.#known.keys()])
    const entriesOf = new Map<string, LogEntry[]>()
    const toRead = new Map<string, number>()
    for (const [subject, known] of this.#known) {
      if (known.is === 'told') entriesOf.set(subject, known.entries)
      else if (known.is === 'to be read') toRead.set(subject, known.firstPosition)
      else if (known.is === 'written' && stored.has(subject)) {
        this.#loans.drop(known.number)
        toRead.set(subject, known.firstPosition)
      }
    }
    const held = await getHeldBySubject(context, [...toRead.keys()])
    // All that is held of a loan from its first entry here on: nothing but appends came since.
    for (const [subject, firstPosition] of toRead) {
      const entries = held.get(subject)?.filter(({ position }) => position >= firstPosition) ?? []
      entriesOf.set(
        subject,
        entries.sort((a, b) => a.position - b.position),
      )
    }
    const changes = await changesOf(context, { entriesOf, stored, held })
    await overlapping([this.#loans.addAll(context), writeChanges(context, changes)])
  }

  #goOn(change: ChangeOfOne, entry: AppendEntry): void {
    const { subject, firstPosition } = change
    if (!isAfter(entry.event, lastOf(change.loan))) {
      this.#justEnded.delete(change)
      this.#known.set(subject, { is: 'to be read', firstPosition })
      return
    }
    const loan = evolveLoan(change.loan, entry) ?? change.loan
    if (!saysTheSame(change.loan, loan)) change.updatedAt = entry.recordedAt
    change.loan = loan
    if (loan.times.endedS === null) return
    this.#justEnded.add(change)
    if (this.#justEnded.size <= JUST_ENDED) return
    const [first = change] = this.#justEnded
    this.#writeDown(first)
  }

  #writeDown(change: ChangeOfOne): void {
    const { subject, firstPosition } = change
    this.#known.set(subject, { is: 'written', number: this.#loans.add(change), firstPosition })
    this.#justEnded.delete(change)
  }
}

function begin(subject: string, entry: AppendEntry): Known {
  return makesLoan(entry.event)
    ? { is: 'made', change: make(subject, entry) }
    : { is: 'told', entries: [entry] }
}

/** A loan from the event that makes it on. */
function make(subject: string, entry: AppendEntry): ChangeOfOne {
  const { position, recordedAt } = entry
  const loan = evolveLoan(undefined, entry)
  if (loan === undefined) throw new Error(`log entry ${position} makes no loan`)
  const times = { createdAt: recordedAt, updatedAt: recordedAt }
  return { subject, loan, isNew: true, firstPosition: position, ...times, isMoved: false }
}
