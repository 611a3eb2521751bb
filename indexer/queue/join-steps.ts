import type { BlocksStep, ChainStep } from '../../shared/events/chain-step.ts'
import { joinEvidence } from '../../shared/events/join-evidence.ts'

/** What one transaction writes, and one job stands for, at most. */
export interface StepBounds {
  events: number
  blocks: number
  /** Ranges that were read, each of which is told by itself: by another endpoint, or checked otherwise. */
  ranges: number
}

/**
 * (pure) Two steps as one, where blocks follow blocks and both together are within the bounds; undefined where they stay
 * two. A joined step is written as any other: from the position before the first to the end of the second.
 */
export function joinSteps(first: ChainStep, second: ChainStep, most: StepBounds): BlocksStep | undefined {
  if (first.type !== 'blocks' || second.type !== 'blocks') return undefined
  if (second.after?.number !== first.to.number || second.after.hash !== first.to.hash) return undefined
  if (first.events.length + second.events.length > most.events) return undefined
  if (second.to.number - first.from >= most.blocks) return undefined
  const evidence = joinEvidence(first.evidence, second.evidence)
  if (evidence.length > most.ranges) return undefined
  return {
    type: 'blocks',
    from: first.from,
    after: first.after,
    to: second.to,
    headers: [...first.headers, ...second.headers],
    events: [...first.events, ...second.events],
    evidence,
  }
}
