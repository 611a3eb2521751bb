import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, RangeEvidence, TimedBlock } from '../../shared/events/chain-step.ts'

/** The outcome of reading consecutive blocks: their events in chain order, and the endpoints that answered. */
export interface BlocksRead {
  events: ChainEvent[]
  evidence: RangeEvidence[]
  /** Only of chains whose blocks commit to the results of the block before. */
  results?: ResultsRead
}

/** The results by which blocks were proven, each as the root to which the block after it commits. */
export interface ResultsRead {
  /** The block before the first one, and the root to which the first one commits. Null if it is not known. */
  before: { hash: string; root: string } | null
  /** Ascending. The block after the last one was not read: an endpoint may have made it up. */
  blocks: { number: number; hash: string; root: string }[]
}

/** The outcome of reading a range by height. The headers at its ends prove its branch. */
export interface RangeRead extends BlocksRead {
  first: BlockHeader
  last: BlockHeader
  /** The blocks that have events, ascending. The range can be cut after any of them. */
  cuts: TimedBlock[]
}

/**
 * One ledger as the follower sees it. Every method retries, fails over and verifies answers. It throws a RetryableError
 * when no endpoint gives a trustworthy answer now, and a PermanentError when none ever will.
 */
export interface ChainSource {
  /** The network's key, as the tables store it. */
  readonly network: string
  /** The first block to read. */
  readonly startBlock: number
  /** The most blocks that a backfill asks for at once. */
  readonly maxBlockRange: number
  /** Verifies the chain, the contracts and the presence of a head before anything is read. */
  check(): Promise<void>
  /** Returns the newest block to index: the configured number of confirmations below the node's head. */
  head(): Promise<BlockHeader>
  /** Returns the newest block that can no longer be reorganized, or null while there is none. */
  finalized(): Promise<BlockRef | null>
  /**
   * Records that this block is final. The source rejects an endpoint that shows another block there or a lower head.
   */
  believeFinal(block: BlockRef): void
  /**
   * Names the rules that the chain is known to follow, or from which block on. They are stored, so that a restart does not
   * lower a proof.
   */
  chainRules?(): Readonly<Record<string, boolean | number>>
  believeRules?(known: Readonly<Record<string, boolean | number>>): void
  /**
   * Returns the header of block `number` on the branch of `final`; `number` is at most `final`'s. One endpoint must
   * show both.
   */
  finalHeader(final: BlockRef, number: number): Promise<BlockHeader>
  /** Returns the headers of `from` … `to` (inclusive) on the node's current branch; fewer when its head is lower. */
  headers(from: number, to: number): Promise<BlockHeader[]>
  /** Reads final blocks by height, `from` … `to` inclusive. */
  readRange(from: number, to: number): Promise<RangeRead>
  /** Reads blocks by hash, so that a reorg during the read cannot mix branches. */
  readBlocks(headers: BlockHeader[]): Promise<BlocksRead>
  /** Yields when there may be a new head: on the node's notification if it sends any, else at the polling interval. */
  headTicks(signal: AbortSignal): AsyncIterable<void>
  close(): Promise<void>
}

/** The state from which to continue, as the database stores it. */
export interface ResumePoint {
  /** The last block written, or null before the first. */
  position: BlockRef | null
  /** Headers of the blocks that may still be reorganized, ascending, ending with `position`. */
  headers: BlockHeader[]
  finalized: BlockRef | null
}
