import type { RangeEvidence } from './chain-step.ts'

/** (pure) Joins adjacent ranges that have the same endpoint and check. A later word on the same blocks replaces the last one. */
export function joinEvidence(
  first: readonly RangeEvidence[],
  second: readonly RangeEvidence[],
): RangeEvidence[] {
  const joined = [...first]
  for (const item of second) {
    const before = joined.at(-1)
    if (before !== undefined && item.from <= before.from && before.to <= item.to) joined.pop()
    const last = joined.at(-1)
    const isSame = last?.to === item.from - 1 && last.endpoint === item.endpoint && last.check === item.check
    if (isSame) joined[joined.length - 1] = { ...last, to: item.to }
    else joined.push(item)
  }
  return joined
}
