import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, RangeEvidence, TimedBlock } from '../../shared/events/chain-step.ts'

/** Consecutive blocks that were read: their events in chain order, and the endpoints that answered. */
export interface BlocksRead {
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/** As above for a range read by height: its ends prove which branch it is of. */
export interface RangeRead extends BlocksRead {
  first: BlockHeader
  last: BlockHeader
  /** The blocks that have events, ascending: where the range can be cut. */
  cuts: TimedBlock[]
}

/**
 * One ledger, as the follower sees it. Every method retries, fails over and checks by itself; it throws a
 * RetryableError when no endpoint gives a trustworthy answer now, and a PermanentError when none ever will.
 */
export interface ChainSource {
  /** The network's key, as in the tables. */
  readonly network: string
  /** The first block that is read. */
  readonly startBlock: number
  /** The most blocks that are asked for at once in backfill. */
  readonly maxBlockRange: number
  /** Right chain, contracts where they should be, a head: before anything is read. */
  check(): Promise<void>
  /** The newest block to index (the configured number of confirmations behind the node's head). */
  head(): Promise<BlockHeader>
  /** The newest block that can no longer be reorganized; null while there is none. */
  finalized(): Promise<BlockRef | null>
  /** This block is final, we know: an endpoint that has another one there, or a lower head, is not to be believed. */
  believeFinal(block: BlockRef): void
  /** The header of block `number` on the branch of the final block `final`, not below it: one endpoint shows both. */
  finalHeader(final: BlockRef, number: number): Promise<BlockHeader>
  /** The headers of `from` … `to` (inclusive) on the branch the node is on now; fewer when its head is lower. */
  headers(from: number, to: number): Promise<BlockHeader[]>
  /** Reads final blocks by height, `from` … `to` inclusive. */
  readRange(from: number, to: number): Promise<RangeRead>
  /** Reads blocks by their hashes, so that a reorg meanwhile cannot mix branches. */
  readBlocks(headers: BlockHeader[]): Promise<BlocksRead>
  /** Yields whenever there may be a new head: told by the node where it can, at the polling interval otherwise. */
  headTicks(signal: AbortSignal): AsyncIterable<void>
  close(): Promise<void>
}

/** The place to go on from, as the database knows it. */
export interface ResumePoint {
  /** The last block that was written; null when none was. */
  position: BlockRef | null
  /** Headers of the blocks that may still be reorganized, ascending, ending with `position`. */
  headers: BlockHeader[]
  finalized: BlockRef | null
}
