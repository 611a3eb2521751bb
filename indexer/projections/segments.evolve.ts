import type { LogEntry } from '../../shared/events/log-entry.ts'

/**
 * Cuts whole steps into segments that are folded at once: steps that only append are one segment as long as
 * nothing but their like follows; a step that replaces or retracts stands alone, for a record that goes and a
 * record that comes in one step may be about the same loan. From the first payment channel on (`channelsKnown`: there
 * are some already) every step stands alone: any event can tie a channel to another loan, and what a reader could
 * see in between is part of what a record says (its times).
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

/** Whether an entry is about a payment channel, and not about a loan's contract. */
export function isAboutChannel({ subject }: LogEntry): boolean {
  return subject?.startsWith('channel/') === true
}

/** Entries in the order of their positions, those of one step together. */
export function stepsOf(entries: readonly LogEntry[]): LogEntry[][] {
  const steps: LogEntry[][] = []
  let step: LogEntry[] = []
  let number: number | undefined
  for (const entry of entries) {
    if (entry.step !== number) {
      number = entry.step
      step = []
      steps.push(step)
    }
    step.push(entry)
  }
  return steps
}
