import { RetryableError } from '../../shared/errors.ts'
import type { RangeWidth } from './block-ranges.ts'
import { nextRange, type BlockRange } from './block-ranges.ts'
import type { ChainSource, RangeRead } from './chain-source.ts'

export interface PlacedRead extends BlockRange {
  read: RangeRead
}

interface ReadAheadOptions {
  source: Pick<ChainSource, 'readRange'>
  width: RangeWidth
  /**
   * Ranges that are read or held at once, which bounds memory while the consumer is slow. The first range is read
   * alone, because the number of its events is unknown.
   */
  parallel: number
  /** Returns true while memory has no room beyond what is held; then only the next range is read. */
  isTight?: () => boolean
  /** Called after each range that was read, with its blocks and its time. */
  onRange?: ((blocks: number, ms: number) => void) | undefined
  signal: AbortSignal
}

/**
 * Reads final blocks in parallel ranges and yields them in order. A range that fails is read again in narrower ranges.
 * Throws when a single block cannot be read. Ends when `signal` is aborted.
 */
export async function* readAhead(range: BlockRange, options: ReadAheadOptions): AsyncGenerator<PlacedRead> {
  const ahead: Promise<PlacedRead[]>[] = []
  const { width, parallel, isTight } = options
  const most = (): number => (width.isTried && isTight?.() !== true ? parallel : 1)
  let next = range.from
  for (;;) {
    if (options.signal.aborted) return
    while (ahead.length < most()) {
      const span = nextRange(next, range.to, width.width)
      if (span === null) break
      next = span.to + 1
      const reads = readSpan(span, options)
      reads.catch(() => undefined)
      ahead.push(reads)
    }
    const first = ahead.shift()
    if (first === undefined) return
    yield* await first
  }
}

async function readSpan(
  span: BlockRange,
  { source, width, signal, onRange }: ReadAheadOptions,
): Promise<PlacedRead[]> {
  const reads: PlacedRead[] = []
  let next = span.from
  for (;;) {
    const range = nextRange(next, span.to, width.width)
    if (range === null || signal.aborted) return reads
    const blocks = range.to - range.from + 1
    const beganMs = performance.now()
    try {
      const read = await source.readRange(range.from, range.to)
      width.succeeded(blocks, read.events.length)
      onRange?.(blocks, performance.now() - beganMs)
      reads.push({ ...range, read })
      next = range.to + 1
    } catch (error) {
      width.failed(blocks)
      if (!(error instanceof RetryableError) || blocks === 1) throw error
    }
  }
}
