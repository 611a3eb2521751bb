import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockHeader } from '../../shared/events/chain-step.ts'
import { RetryableError } from '../../shared/errors.ts'
import { FIRST_WIDTH, RangeWidth } from '../sources/block-ranges.ts'
import type { BlocksRead, ChainSource } from '../sources/chain-source.ts'
import { readAhead } from '../sources/read-ahead.ts'

/** Consecutive blocks of one reading, and the headers that prove which branch they are of. */
export interface Reading extends BlocksRead {
  from: number
  last: BlockHeader
  /** Of the blocks that are not final yet: all of them. */
  headers: BlockHeader[]
}

/** How many blocks that are not final yet are read at once. */
const TIP_CHUNK = 64
const TARGET_EVENTS = 1_000
const PARALLEL = 4
const ATTEMPTS = 20
const PAUSE_MS = 500

/**
 * Reads the blocks `from` … `to` (inclusive) again: final ones by height, in ranges as wide as the node allows, the
 * others by their hashes. What fails is tried again; throws when it goes on failing.
 */
export async function* readAgain(
  source: ChainSource,
  span: { from: number; to: number; finalized: number },
  signal: AbortSignal,
): AsyncGenerator<Reading> {
  const width = new RangeWidth(source.maxBlockRange, { first: FIRST_WIDTH, targetEvents: TARGET_EVENTS })
  let next = span.from
  for (let attempt = 1; next <= span.to && !signal.aborted; attempt += 1) {
    try {
      for await (const reading of readOnce(source, width, { ...span, from: next }, signal)) {
        yield reading
        next = reading.last.number + 1
        attempt = 1
      }
    } catch (error) {
      if (!(error instanceof RetryableError) || attempt >= ATTEMPTS) throw error
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

async function* readOnce(
  source: ChainSource,
  width: RangeWidth,
  span: { from: number; to: number; finalized: number },
  signal: AbortSignal,
): AsyncGenerator<Reading> {
  const final = { from: span.from, to: Math.min(span.to, span.finalized) }
  for await (const { from, read } of readAhead(final, { source, width, parallel: PARALLEL, signal })) {
    yield { from, last: read.last, headers: [], events: read.events, evidence: read.evidence }
  }
  for (
    let from = Math.max(span.from, span.finalized + 1);
    from <= span.to && !signal.aborted;
    from += TIP_CHUNK
  ) {
    const headers = await linkedHeaders(source, from, Math.min(from + TIP_CHUNK - 1, span.to))
    const last = headers.at(-1)
    if (last === undefined) return
    yield { from, last, headers, ...(await source.readBlocks(headers)) }
  }
}

async function linkedHeaders(source: ChainSource, from: number, to: number): Promise<BlockHeader[]> {
  const headers = await source.headers(from, to)
  const linked = headers.every(
    (header, index) => index === 0 || header.parentHash === headers[index - 1]?.hash,
  )
  if (headers.length !== to - from + 1 || !linked) {
    throw new RetryableError(`the node does not give the blocks ${from} to ${to} of one branch now`)
  }
  return headers
}
