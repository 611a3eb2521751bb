import type { LogEntry } from '../../shared/events/log-entry.ts'
import { stepsOf, subjectsOf } from '../../shared/events/entry-steps.ts'
import { groupBy } from '../../shared/group-by.ts'

/**
 * Cuts whole steps into segments that are folded at once. Consecutive steps that only append form one segment. A step
 * that replaces or retracts stands alone: it may remove and add records of the same loan. Every step stands alone from
 * the first payment channel on (`channelsKnown`: there are some already). Any event can then link a channel to another
 * loan, and records' times depend on each state in between.
 */
export function segmentsOf(entries: LogEntry[], channelsKnown: boolean): LogEntry[][] {
  const segments: { appendsOnly: boolean; entries: LogEntry[] }[] = []
  let alone = channelsKnown
  for (const step of stepsOf(entries)) {
    alone ||= step.some(isAboutChannel)
    const appendsOnly = !alone && step.every((entry) => entry.op === 'append')
    const last = segments.at(-1)
    if (last?.appendsOnly === true && appendsOnly) last.entries.push(...step)
    else segments.push({ appendsOnly, entries: [...step] })
  }
  return segments.map((segment) => segment.entries)
}

/** Whether an entry concerns a payment channel rather than a loan contract. */
export function isAboutChannel({ subject }: LogEntry): boolean {
  return subject?.startsWith('channel/') === true
}

/** The entries that concern each loan or channel, or did before. */
export function groupBySubject(entries: readonly LogEntry[]): Map<string, LogEntry[]> {
  const pairs = entries.flatMap((entry) => subjectsOf(entry).map((subject) => ({ subject, entry })))
  const groups = groupBy(pairs, ({ subject }) => subject)
  return new Map([...groups].map(([subject, group]) => [subject, group.map(({ entry }) => entry)]))
}
