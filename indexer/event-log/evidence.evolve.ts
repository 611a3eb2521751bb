import type { RangeCheck, RangeEvidence } from '../../shared/events/chain-step.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { weakestProof, type ProofKind } from '../../shared/events/proof-kind.ts'

/** (pure) The kind that a check is stored as. */
export function proofOf(check: RangeCheck): ProofKind {
  return check === 'receipt-list' ? 'one' : check
}

/** (pure) Says of each entry that has an event how its block was proven. */
export function withProofs(entries: NewEntry[], evidence: readonly RangeEvidence[]): NewEntry[] {
  const ranges = evidence.toSorted((one, other) => one.from - other.from)
  return entries.map((entry) => {
    if (entry.event === null) return entry
    const range = ranges.findLast(({ from }) => from <= entry.blockNumber)
    const isInside = range !== undefined && entry.blockNumber <= range.to
    return isInside ? { ...entry, proof: proofOf(range.check) } : entry
  })
}

/** A stored range: its checks, and the number of blocks with each. */
export interface StoredRange {
  from_number: number
  to_number: number
  endpoints: string[]
  checks: string[]
  counts: number[]
}

/** (pure) Joins two adjacent ranges. */
export function joinRanges(first: StoredRange, second: StoredRange): StoredRange {
  const blocks = new Map<string, number>()
  for (const { checks, counts } of [first, second])
    checks.forEach((check, index) => blocks.set(check, (blocks.get(check) ?? 0) + (counts[index] ?? 0)))
  return {
    from_number: first.from_number,
    to_number: second.to_number,
    endpoints: [...new Set([...first.endpoints, ...second.endpoints])],
    checks: [...blocks.keys()],
    counts: [...blocks.values()],
  }
}

/** (pure) The part `from` to `to` of a range. Which of several checks it had is not known: it gets the weakest. */
export function partOfRange(range: StoredRange, from: number, to: number): StoredRange {
  const check = range.checks.length === 1 ? range.checks : [weakestProof(range.checks)]
  return { ...range, from_number: from, to_number: to, checks: check, counts: [to - from + 1] }
}
