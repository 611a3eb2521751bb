import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'

export interface FollowOptions {
  /** Ends the steps promptly and without an error. */
  signal: AbortSignal
  /** Ranges read at once in a backfill; bounds what is read ahead of a slow consumer. */
  parallelRanges?: number
  /** Returns true while memory has no room beyond what was read and is not written yet. */
  isTight?: () => boolean
  /** Blocks of the first range, read before the number of events per block is known. */
  firstWidth?: number
  /** A reorg, or a single block with more events, makes a larger step. */
  maxEventsPerStep?: number
  /** Blocks read at once at the tip. */
  maxTipBlocks?: number
  /** Called at every look at the chain. */
  onHead?: (info: { head: BlockHeader; finalized: BlockRef | null }) => void
  /** A slower look at the chain counts as a problem. Requests that are never answered fail much later. */
  lookWithinMs?: number
  /** Called when a look at the head got no answer for `lookWithinMs`; `onHead` ends that problem. */
  onLate?: (message: string) => void
  /** Called when a read failed and will be retried. */
  onProblem?: (message: string, error: Error) => void
  /** Failures in a row after which the last one is thrown; the default retries for ever. */
  mostFailures?: number
  /** Called after each range that was read, with its blocks and its time. */
  onRange?: (blocks: number, ms: number) => void
  /** Called when a read succeeds, whether it found new blocks or reached the head. */
  onRead?: () => void
}
