import { foldChannel, type Channel } from '../../shared/channels/channel.evolve.ts'
import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import { compareInNetworks, stepsOf, subjectsOf } from '../../shared/events/entry-steps.ts'
import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { foldSteps, isInOrder } from '../../shared/loans/loan-steps.evolve.ts'
import type { Loan } from '../../shared/loans/loans.evolve.ts'

/** (pure) A loan as the service knew it at a position of the log, folded as the indexer folds it. */

/** An entry with the key of its event, which a retraction lacks: network and natural key. */
export type KeyedEntry = LogEntry & { key: string }

export interface LoanAt {
  loan: Loan
  /** The loan's id in lists: the position of the first entry of its present life. */
  id: number
  createdAt: Date
  updatedAt: Date
  /** The entries that hold, in the order of folding. */
  held: HeldEntry[]
}

/** A channel that the lookup showed then. */
export interface ChannelAt {
  role: ChannelRole
  network: string
  /** This index's number of the channel. */
  id: number
  createdAt: Date
  updatedAt: Date
  channel: Channel
  held: HeldEntry[]
}

/**
 * Folds a loan from all entries of its events up to the position, in the order of the log. Undefined if the loan did
 * not exist there. A loan that a reorg removed and brought back begins anew, as its row does.
 */
export function loanAt(subject: string, entries: KeyedEntry[]): LoanAt | undefined {
  const newest = new Map<string, KeyedEntry>()
  let found: Omit<LoanAt, 'held'> | undefined
  for (const step of stepsOf(entries)) {
    for (const entry of step) newest.set(entry.key, entry)
    const own = step.filter((entry) => subjectsOf(entry).includes(subject))
    const [first] = own
    if (first === undefined) continue
    const held = isInOrder(found?.loan, own) ? undefined : heldFor(subject, newest)
    const { loan, updatedAt } = foldSteps(found, own, held)
    const { id, createdAt } = found ?? { id: first.position, createdAt: first.recordedAt }
    found = loan === undefined ? undefined : { loan, updatedAt, id, createdAt }
  }
  return found && { ...found, held: heldFor(subject, newest) }
}

/** Folds a channel from all entries of its events up to the position. */
export function channelAt(
  subject: string,
  entries: KeyedEntry[],
): { channel: Channel; held: HeldEntry[] } | undefined {
  const newest = new Map(entries.map((entry) => [entry.key, entry]))
  const held = heldFor(subject, newest)
  const channel = foldChannel(held)
  return channel && { channel, held }
}

function heldFor(subject: string, newest: ReadonlyMap<string, KeyedEntry>): HeldEntry[] {
  return [...newest.values()]
    .filter((entry): entry is HeldEntry & KeyedEntry => entry.op !== 'retract' && entry.subject === subject)
    .sort(compareInNetworks)
}
