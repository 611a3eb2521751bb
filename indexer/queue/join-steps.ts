import type { BlocksStep, ChainStep, RangeEvidence } from '../../shared/events/chain-step.ts'

/**
 * (pure) Two steps as one, where blocks follow blocks and both have no more than `maxEvents` events; undefined where they
 * stay two. A joined step is written as any other: from the position before the first to the end of the second.
 */
export function joinSteps(first: ChainStep, second: ChainStep, maxEvents: number): BlocksStep | undefined {
  if (first.type !== 'blocks' || second.type !== 'blocks') return undefined
  if (second.after?.number !== first.to.number || second.after.hash !== first.to.hash) return undefined
  if (first.events.length + second.events.length > maxEvents) return undefined
  return {
    type: 'blocks',
    from: first.from,
    after: first.after,
    to: second.to,
    headers: [...first.headers, ...second.headers],
    events: [...first.events, ...second.events],
    evidence: joinEvidence(first.evidence, second.evidence),
  }
}

/** Ranges that touch and were checked alike are one. */
function joinEvidence(first: readonly RangeEvidence[], second: readonly RangeEvidence[]): RangeEvidence[] {
  const joined = [...first]
  for (const item of second) {
    const last = joined.at(-1)
    const isSame = last?.to === item.from - 1 && last.endpoint === item.endpoint && last.check === item.check
    if (isSame) joined[joined.length - 1] = { ...last, to: item.to }
    else joined.push(item)
  }
  return joined
}
