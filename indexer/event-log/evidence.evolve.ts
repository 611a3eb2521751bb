import type { RangeCheck, RangeEvidence } from '../../shared/events/chain-step.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { PROOF_KINDS, weakestProof, type ProofKind } from '../../shared/events/proof-kind.ts'

/** (pure) The kind that a check is stored as. */
export function proofOf(check: RangeCheck): ProofKind {
  if (check === 'second-endpoint') return 'two'
  return check === 'receipt-list' || check === 'unchecked' ? 'one' : check
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

/**
 * (pure) What remains of a range without the blocks `from` to `to`, in at most two parts. Which blocks of a joined range had
 * which check is not known: the strongest count as removed, and both parts keep the name of every check.
 */
export function partsWithout<Range extends StoredRange>(range: Range, from: number, to: number): Range[] {
  const left = blocksByStrength(range)
  const removed = Math.min(to, range.to_number) - Math.max(from, range.from_number) + 1
  take(left, removed)
  const bounds: [number, number][] = [
    [range.from_number, Math.min(from - 1, range.to_number)],
    [Math.max(to + 1, range.from_number), range.to_number],
  ]
  return bounds
    .filter(([first, last]) => first <= last)
    .map(([first, last]) => {
      const blocks = take(left, last - first + 1)
      return {
        ...range,
        from_number: first,
        to_number: last,
        checks: [...blocks.keys()],
        counts: [...blocks.values()],
      }
    })
}

function blocksByStrength({ checks, counts }: StoredRange): Map<string, number> {
  const blocks = checks.map((check, index): [string, number] => [check, counts[index] ?? 0])
  return new Map(blocks.toSorted(([one], [other]) => rankOf(one) - rankOf(other)))
}

function rankOf(check: string): number {
  return PROOF_KINDS.indexOf(weakestProof([check]))
}

/** Takes `count` blocks, the strongest first, and returns how many of each check these were. */
function take(left: Map<string, number>, count: number): Map<string, number> {
  const taken = new Map<string, number>()
  let open = count
  for (const [check, blocks] of left) {
    const some = Math.min(open, blocks)
    taken.set(check, some)
    left.set(check, blocks - some)
    open -= some
  }
  return taken
}
