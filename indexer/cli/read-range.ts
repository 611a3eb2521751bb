import { pause } from '../../shared/async/pause.ts'
import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'
import { messageOf, RetryableError } from '../../shared/errors.ts'
import { FIRST_WIDTH, RangeWidth } from '../sources/block-ranges.ts'
import { ChainMoved } from '../sources/chain-moved.ts'
import type { BlocksRead, ChainSource } from '../sources/chain-source.ts'
import { confirmedRanges } from '../sources/confirmed-ranges.ts'
import { readAhead } from '../sources/read-ahead.ts'

/** Consecutive blocks of one reading, and the headers that prove which branch they are of. */
export interface Reading extends BlocksRead {
  from: number
  last: BlockHeader
  /** All headers of the blocks that are not final yet. */
  headers: BlockHeader[]
}

/** The blocks `from` … `to` (inclusive), and the newest one that is final in the index. */
interface Span {
  from: number
  to: number
  final: BlockRef | null
}

/** How many blocks that are not final yet are read at once. */
const TIP_CHUNK = 64
const TARGET_EVENTS = 1_000
const PARALLEL = 4
const ATTEMPTS = 20
const PAUSE_MS = 500
/** A source reports so an endpoint that has another block where one is final. */
const CONTRADICTS = /is final/

/**
 * Reads the blocks of a span again: final ones by height, in ranges as wide as the node allows, the others by their hashes.
 * Only what leads up to the index's final block is yielded as final. What fails is tried again; throws when it goes on
 * failing, and before anything is read when no endpoint shows that block.
 */
export async function* readAgain(
  source: ChainSource,
  span: Span,
  signal: AbortSignal,
): AsyncGenerator<Reading> {
  const width = new RangeWidth(source.maxBlockRange, { first: FIRST_WIDTH, targetEvents: TARGET_EVENTS })
  let next = span.from
  let isShown = span.final === null
  for (let attempt = 1; next <= span.to && !signal.aborted; attempt += 1) {
    try {
      if (span.final !== null && !isShown) await requireFinal(source, span.final)
      isShown = true
      for await (const reading of readOnce(source, width, { ...span, from: next }, signal)) {
        yield reading
        next = reading.last.number + 1
        attempt = 1
      }
    } catch (error) {
      if (!(error instanceof RetryableError) || attempt >= ATTEMPTS) throw error
      await pause(PAUSE_MS, signal)
    }
  }
}

/** An endpoint that has another block there is put aside. Throws for good when there is no other. */
async function requireFinal(source: ChainSource, final: BlockRef): Promise<void> {
  source.believeFinal(final)
  try {
    await source.head()
  } catch (error) {
    if (!(error instanceof RetryableError) || !CONTRADICTS.test(messageOf(error))) throw error
    throw new Error(
      `${messageOf(error)}; nothing is read where block ${final.number} is not ${final.hash}, which is final in the index: ` +
        'name an endpoint that has it or, where the chain itself was begun anew, index it into an empty database',
      { cause: error },
    )
  }
}

async function* readOnce(
  source: ChainSource,
  width: RangeWidth,
  { from: first, to, final }: Span,
  signal: AbortSignal,
): AsyncGenerator<Reading> {
  if (final !== null && first <= final.number) {
    yield* readFinal(source, width, { from: first, to: Math.min(to, final.number), final }, signal)
  }
  let before = final
  for (
    let from = Math.max(first, (final?.number ?? -1) + 1);
    from <= to && !signal.aborted;
    from += TIP_CHUNK
  ) {
    const headers = await linkedHeaders(source, { from, to: Math.min(from + TIP_CHUNK - 1, to), before })
    const last = headers.at(-1)
    if (last === undefined) return
    yield { from, last, headers, ...(await source.readBlocks(headers)) }
    before = last
  }
}

/**
 * Each range continues the one before, and its end is of the final block's branch, as the beginning of the first is: a node
 * of another history shares the oldest blocks, and what was written of its others would stay.
 */
async function* readFinal(
  source: ChainSource,
  width: RangeWidth,
  { from: lowest, to, final }: Span & { final: BlockRef },
  signal: AbortSignal,
): AsyncGenerator<Reading> {
  const first = await source.finalHeader(final, lowest)
  const last = await source.finalHeader(final, to)
  const ahead = readAhead({ from: lowest, to }, { source, width, parallel: PARALLEL, signal })
  for await (const { from, read } of confirmedRanges(ahead, last)) {
    if (from === lowest && read.first.hash !== first.hash) {
      throw new ChainMoved(`block ${from} is ${read.first.hash}, but ${first.hash} is final`)
    }
    const end = await source.finalHeader(final, read.last.number)
    if (read.last.hash !== end.hash) {
      throw new ChainMoved(`block ${end.number} is ${read.last.hash}, but ${end.hash} is final`)
    }
    yield { from, last: read.last, headers: [], events: read.events, evidence: read.evidence }
  }
}

/** `before` is looked at where it is the block before them. */
async function linkedHeaders(
  source: ChainSource,
  { from, to, before }: { from: number; to: number; before: BlockRef | null },
): Promise<BlockHeader[]> {
  const headers = await source.headers(from, to)
  const lead = before?.number === from - 1 ? before.hash : headers[0]?.parentHash
  const linked = headers.every(
    (header, index) => header.parentHash === (index === 0 ? lead : headers[index - 1]?.hash),
  )
  if (headers.length !== to - from + 1 || !linked) {
    throw new RetryableError(`the node does not give the blocks ${from} to ${to} of one branch now`)
  }
  return headers
}
