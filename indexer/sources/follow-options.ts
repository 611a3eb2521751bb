import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'

export interface FollowOptions {
  /** Ends the steps promptly and without an error. */
  signal: AbortSignal
  /** Ranges read at once in backfill; what is read ahead of a slow consumer. */
  parallelRanges?: number
  /** Returns true while there is no room for more than was read and is not written yet. */
  isTight?: () => boolean
  /** Blocks of the first range: how many events they have is not known yet. */
  firstWidth?: number
  /** A single block with more events makes a larger step, and so does a reorg. */
  maxEventsPerStep?: number
  /** Blocks read at once at the tip. */
  maxTipBlocks?: number
  /** Told at every look at the chain. */
  onHead?: (info: { head: BlockHeader; finalized: BlockRef | null }) => void
  /** A look at the chain that takes longer is a problem: requests that are never answered fail much later. */
  lookWithinMs?: number
  /** The look at the head has had no answer for `lookWithinMs`; `onHead` ends that problem. */
  onLate?: (message: string) => void
  /** Reading failed and is tried again. */
  onProblem?: (message: string) => void
  /** Failures in a row after which the last one is thrown; by default it is tried again for ever. */
  mostFailures?: number
  /** A retried read succeeded: new blocks, or all that there is. */
  onRead?: () => void
}
