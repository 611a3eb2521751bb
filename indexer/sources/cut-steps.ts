import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, RangeEvidence, TimedBlock } from '../../shared/events/chain-step.ts'

/** Consecutive blocks `from` … `to` (inclusive) and what was read of them. */
export interface Piece {
  from: number
  to: TimedBlock
  headers: BlockHeader[]
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/**
 * Cuts a stretch after blocks with events, so that no piece has more than `maxEvents` events, except one that is a
 * single block's. `cuts` are at least those blocks that have events, ascending.
 */
export function cutStretch(stretch: Piece, cuts: readonly TimedBlock[], maxEvents: number): Piece[] {
  if (stretch.events.length <= maxEvents) return [stretch]
  const perBlock = new Map<number, ChainEvent[]>()
  for (const event of stretch.events) {
    const block = perBlock.get(event.blockNumber)
    if (block === undefined) perBlock.set(event.blockNumber, [event])
    else block.push(event)
  }
  const pieces: Piece[] = []
  let from = stretch.from
  let events: ChainEvent[] = []
  let end: TimedBlock | null = null
  const close = (to: TimedBlock): void => {
    pieces.push(piece(stretch, from, to, events))
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
  close(stretch.to)
  return pieces
}

function piece(stretch: Piece, from: number, to: TimedBlock, events: ChainEvent[]): Piece {
  return {
    from,
    to,
    events,
    headers: stretch.headers.filter(({ number }) => number >= from && number <= to.number),
    evidence: stretch.evidence
      .filter((item) => item.from <= to.number && item.to >= from)
      .map((item) => ({ ...item, from: Math.max(item.from, from), to: Math.min(item.to, to.number) })),
  }
}
