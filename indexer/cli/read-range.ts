import type { BlockHeader } from '../../shared/events/chain-step.ts'
import { RetryableError } from '../../shared/errors.ts'
import type { BlocksRead, ChainSource } from '../sources/chain-source.ts'

/** Blocks of one reading, and the header that proves which branch they are of. */
export interface Reading extends BlocksRead {
  from: number
  last: BlockHeader
}

/** How many blocks that are not final yet are read at once. */
const TIP_CHUNK = 64

/**
 * Reads the blocks `from` … `to` (inclusive) again, in ranges of at most `size` blocks: final ones by height, the
 * others by their hashes.
 */
export async function* readAgain(
  source: ChainSource,
  span: { from: number; to: number; finalized: number; size: number },
): AsyncGenerator<Reading> {
  let from = span.from
  while (from <= span.to) {
    if (from <= span.finalized) {
      const to = Math.min(from + span.size - 1, span.finalized, span.to)
      const { events, evidence, last } = await source.readRange(from, to)
      yield { from, last, events, evidence }
      from = to + 1
    } else {
      const to = Math.min(from + TIP_CHUNK - 1, span.to)
      const headers = await source.headers(from, to)
      const last = headers.at(-1)
      if (last?.number !== to) throw new RetryableError(`the node has no block ${to} now`)
      yield { from, last, ...(await source.readBlocks(headers)) }
      from = to + 1
    }
  }
}
