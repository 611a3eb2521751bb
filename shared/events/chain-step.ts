import type { ChainEvent } from './chain-event.ts'
import type { ProofKind } from './proof-kind.ts'

/** One block of one fork. */
export interface BlockRef {
  number: number
  hash: string
}

export interface TimedBlock extends BlockRef {
  /** Unix seconds. */
  timeS: number
}

export interface BlockHeader extends TimedBlock {
  parentHash: string
}

/** Words that jobs of version 0.2 have for a check. */
export const FORMER_CHECKS = ['second-endpoint', 'unchecked'] as const

/**
 * How the completeness of a range was checked. 'receipt-list': the bloom proves nothing, but the endpoint's receipts, one
 * for each transaction, have the same logs; their root was not computed, so this is stored as 'one'.
 */
export type RangeCheck = ProofKind | 'receipt-list' | (typeof FORMER_CHECKS)[number]

/** The endpoint that answered for the blocks `from` to `to` (inclusive), and how the answer was checked. */
export interface RangeEvidence {
  from: number
  to: number
  endpoint: string
  check: RangeCheck
}

/** Consecutive blocks of one fork, up to and including `to`. */
interface Blocks {
  to: TimedBlock
  /** Headers to store while these blocks can still be reorganized; empty if they are final. */
  headers: BlockHeader[]
  /** Chain order: by block, then by log index. */
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/** The next blocks. They continue the position `after`; null means that nothing was read before `from`. */
export interface BlocksStep extends Blocks {
  type: 'blocks'
  from: number
  after: BlockRef | null
}

/** The chain left its fork: these blocks replace everything after `ancestor` up to `replaces`. */
export interface ReorgStep extends Blocks {
  type: 'reorg'
  ancestor: BlockRef
  replaces: BlockRef
}

/** Blocks up to this one can no longer be reorganized. */
export interface FinalizedStep {
  type: 'finalized'
  block: BlockRef
}

/** A unit that a source yields, jobs carry and the writer applies. */
export type ChainStep = BlocksStep | ReorgStep | FinalizedStep
