import type { LogEntry } from '../../shared/events/log-entry.ts'

/**
 * Cuts whole steps into segments that are folded at once: steps that only append are one segment as long as
 * nothing but their like follows; a step that replaces or retracts stands alone, for a record that goes and a
 * record that comes in one step may be about the same loan.
 */
export function segmentsOf(entries: LogEntry[]): LogEntry[][] {
  const segments: { appendsOnly: boolean; entries: LogEntry[] }[] = []
  for (const step of stepsOf(entries)) {
    const appendsOnly = step.every((entry) => entry.op === 'append')
    const last = segments.at(-1)
    if (last?.appendsOnly === true && appendsOnly) last.entries.push(...step)
    else segments.push({ appendsOnly, entries: [...step] })
  }
  return segments.map((segment) => segment.entries)
}

function stepsOf(entries: LogEntry[]): LogEntry[][] {
  const steps: LogEntry[][] = []
  for (const entry of entries) {
    const last = steps.at(-1)
    if (last?.[0]?.step === entry.step) last.push(entry)
    else steps.push([entry])
  }
  return steps
}
