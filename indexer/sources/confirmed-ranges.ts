import type { BlockRef } from '../../shared/events/chain-step.ts'
import { ChainMoved } from './chain-moved.ts'
import type { PlacedRead } from './read-ahead.ts'

/**
 * What is final is never taken back, so no block is believed to be by one answer alone: a range is yielded once the
 * next one continues its last block, and the last range once that block is `finalized`. Throws a ChainMoved where one
 * contradicts the other; what was not yielded is to be read again.
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
