import type { BlockRef } from '../../shared/events/chain-step.ts'
import { ChainMoved } from './chain-moved.ts'
import type { RangeRead } from './chain-source.ts'
import type { PlacedRead } from './read-ahead.ts'

/**
 * Yields a range once the next range continues its last block, and the last range once that block is `finalized`. Final
 * blocks are never rolled back, so a single answer is not enough proof. Throws a ChainMoved when two ranges contradict
 * each other; the caller reads again whatever was not yielded.
 */
export async function* confirmedRanges(
  ranges: AsyncIterable<PlacedRead>,
  finalized: BlockRef,
): AsyncGenerator<PlacedRead> {
  let held: PlacedRead | undefined
  for await (const next of ranges) {
    if (held !== undefined) {
      const { last } = held.read
      const { first } = next.read
      if (first.number !== next.from || first.parentHash !== last.hash) {
        throw new ChainMoved(`block ${next.from} does not continue block ${last.number} (${last.hash})`)
      }
      requireSameResults(held.read, next.read)
      yield held
    }
    held = next
  }
  if (held === undefined) return
  const { last } = held.read
  if (last.number !== finalized.number || last.hash !== finalized.hash) {
    throw new ChainMoved(`block ${last.number} is ${last.hash}, but ${finalized.hash} is final`)
  }
  yield held
}

/** Throws a ChainMoved when the last block of a range was read with other results than the next range shows. */
function requireSameResults(first: RangeRead, next: RangeRead): void {
  const [last, shown] = [first.results?.blocks.at(-1), next.results?.before]
  if (last === undefined || shown?.hash !== last.hash || shown.root === last.root) return
  throw new ChainMoved(
    `block ${last.number} (${last.hash}) was read with results that the next range does not show`,
  )
}
