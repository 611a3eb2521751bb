import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, RangeEvidence, TimedBlock } from '../../shared/events/chain-step.ts'
import { groupBy } from '../../shared/group-by.ts'

/** The content of a step: consecutive blocks `from` … `to` (inclusive) and their events. */
export interface StepBlocks {
  from: number
  to: TimedBlock
  headers: BlockHeader[]
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/**
 * Cuts a range after blocks with events, so that a step has at most `maxEvents` events. A step of a single block may
 * exceed that. `cuts` must include every block that has events, ascending.
 */
export function cutSteps(range: StepBlocks, cuts: readonly TimedBlock[], maxEvents: number): StepBlocks[] {
  if (range.events.length <= maxEvents) return [range]
  const perBlock = groupBy(range.events, ({ blockNumber }) => blockNumber)
  const steps: StepBlocks[] = []
  let from = range.from
  let events: ChainEvent[] = []
  let end: TimedBlock | null = null
  const close = (to: TimedBlock): void => {
    steps.push(stepOf(range, from, to, events))
    from = to.number + 1
    events = []
  }
  for (const cut of cuts) {
    const ofBlock = perBlock.get(cut.number) ?? []
    if (ofBlock.length === 0) continue
    if (end !== null && events.length > 0 && events.length + ofBlock.length > maxEvents) close(end)
    events.push(...ofBlock)
    end = cut
  }
  close(range.to)
  return steps
}

function stepOf(range: StepBlocks, from: number, to: TimedBlock, events: ChainEvent[]): StepBlocks {
  return {
    from,
    to,
    events,
    headers: range.headers.filter(({ number }) => number >= from && number <= to.number),
    evidence: range.evidence
      .filter((item) => item.from <= to.number && item.to >= from)
      .map((item) => ({ ...item, from: Math.max(item.from, from), to: Math.min(item.to, to.number) })),
  }
}
