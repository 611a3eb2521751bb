import { compareByChain } from './event-place.ts'
import type { HeldEntry, LogEntry } from './log-entry.ts'

/** Groups entries by step; they must be in the order of their positions. */
export function stepsOf<Entry extends LogEntry>(entries: readonly Entry[]): Entry[][] {
  const steps: Entry[][] = []
  let step: Entry[] = []
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

/** The current and the previous subject of an entry. */
export function subjectsOf({ subject, previousSubject }: LogEntry): string[] {
  return [subject, previousSubject].filter((one) => one !== null)
}

/** Orders entries by network and in chain order: the order in which a loan or channel is folded anew. */
export function compareInNetworks(a: HeldEntry, b: HeldEntry): number {
  if (a.network !== b.network) return a.network < b.network ? -1 : 1
  return compareByChain(a.event, b.event) || a.position - b.position
}
