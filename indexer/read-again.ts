import { RetryableError, messageOf } from '../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../shared/events/chain-step.ts'
import type { SecondReading } from './ingest/ingest-reading.ts'
import { ChainMoved } from './sources/chain-moved.ts'
import type { ChainSource, RangeRead } from './sources/chain-source.ts'
import { followChain } from './sources/follow-chain.ts'
import { contradictsFinal } from './sources/rpc/rpc-error.ts'

/** The blocks `from` … `to` (inclusive), and the newest block that is final in the index. */
interface Span {
  from: number
  to: number
  final: BlockRef | null
  /** Each block is read by its hash, with the proof that its header allows. It costs a header for each block. */
  isProven?: boolean
}

/** Failures in a row, which take about twelve seconds. */
const MOST_FAILURES = 8

/**
 * Reads the blocks of a span again, like a chain that begins and ends with them. Only blocks that lead up to the
 * index's final block count as final. Ends early when the chain was reorganized meanwhile.
 *
 * Failures are retried; the last is thrown after {@link MOST_FAILURES} in a row. Throws before reading when no endpoint
 * has the final block.
 */
export async function* readAgain(
  source: ChainSource,
  span: Span,
  signal: AbortSignal,
): AsyncGenerator<SecondReading> {
  const resume = { position: null, headers: [], finalized: null }
  const options = { signal, mostFailures: MOST_FAILURES }
  for await (const step of followChain(chainOfSpan(source, span), resume, options)) {
    if (step.type === 'reorg') return
    if (step.type === 'finalized') continue
    const { from, to: last, headers, events, evidence } = step
    yield { from, last, headers, events, evidence }
  }
}

/** Wraps the source so that its chain seems to begin and end with the span. */
function chainOfSpan(
  source: ChainSource,
  { from: lowest, to: highest, final, isProven = false }: Span,
): ChainSource {
  const isFinal = (number: number): boolean => final !== null && number <= final.number
  let isShown = final === null

  async function headers(from: number, to: number): Promise<BlockHeader[]> {
    const found = await source.headers(from, Math.min(to, highest))
    const [first] = found
    if (first !== undefined && from - 1 === final?.number && first.parentHash !== final.hash)
      throw new ChainMoved(`block ${from} does not continue block ${final.number} (${final.hash})`)
    return found
  }

  async function head(): Promise<BlockHeader> {
    if (final !== null && !isShown) await requireFinal(source, final)
    isShown = true
    if (final !== null && isFinal(highest)) return source.finalHeader(final, highest)
    const [header] = await source.headers(highest, highest)
    if (header === undefined) throw new RetryableError(`block ${highest} is not there`)
    return header
  }

  async function finalized(): Promise<BlockRef | null> {
    if (final === null || !isFinal(lowest)) return null
    const { number, hash } = await source.finalHeader(final, Math.min(highest, final.number))
    return { number, hash }
  }

  /**
   * Verifies that the first block and the end of each range are on the final block's branch. An endpoint with another
   * history shares the oldest blocks, but its later blocks must not be written.
   */
  async function readRange(from: number, to: number): Promise<RangeRead> {
    const read = await (isProven ? readProven(from, to) : source.readRange(from, to))
    for (const { number, hash } of from === lowest ? [read.first, read.last] : [read.last]) {
      if (final === null) continue
      const shown = await source.finalHeader(final, number)
      if (shown.hash !== hash) throw new ChainMoved(`block ${number} is ${hash}, but ${shown.hash} is final`)
    }
    return read
  }

  async function readProven(from: number, to: number): Promise<RangeRead> {
    const found = await source.headers(from, to)
    const [first, last] = [found[0], found.at(-1)]
    if (first === undefined || last?.number !== to) throw new RetryableError(`block ${to} is not there`)
    for (const [index, { number, parentHash }] of found.entries())
      if (index > 0 && parentHash !== found[index - 1]?.hash)
        throw new ChainMoved(`block ${number} does not continue block ${number - 1}`)
    return { ...(await source.readBlocks(found)), first, last, cuts: found }
  }

  return {
    network: source.network,
    startBlock: lowest,
    maxBlockRange: source.maxBlockRange,
    check: () => source.check(),
    head,
    finalized,
    believeFinal: (block) => source.believeFinal(block),
    finalHeader: (block, number) => source.finalHeader(block, number),
    headers,
    readRange,
    readBlocks: (blocks) => source.readBlocks(blocks),
    headTicks: () => noTicks(),
    close: () => source.close(),
  }
}

/** A span has no new heads. */
async function* noTicks(): AsyncGenerator<void> {}

/**
 * Puts aside endpoints that have another block at that height. Throws a permanent error when no other endpoint is left.
 */
async function requireFinal(source: ChainSource, final: BlockRef): Promise<void> {
  source.believeFinal(final)
  try {
    await source.head()
  } catch (error) {
    if (!contradictsFinal(error)) throw error
    throw new Error(
      `${messageOf(error)}; nothing is read where block ${final.number} is not ${final.hash}, which is final in the index: ` +
        'name an endpoint that has it or, where the chain itself was begun anew, index it into an empty database',
      { cause: error },
    )
  }
}
