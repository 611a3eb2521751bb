import type { ChainEvent } from './chain-event.ts'

/** One block of one branch. */
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

/**
 * How the completeness of a range was checked; 'unchecked' when nothing cheap was to be had. 'receipt-list': the bloom proves
 * nothing, but the endpoint's receipts, one for each transaction, have the same logs; their root was not computed.
 */
export type RangeCheck = 'bloom' | 'second-endpoint' | 'receipt-list' | 'unchecked'

/** Who answered for the blocks `from` … `to` (inclusive), and how the answer was checked. */
export interface RangeEvidence {
  from: number
  to: number
  endpoint: string
  check: RangeCheck
}

/** Consecutive blocks of one branch, from the one after `after` up to and including `to`. */
interface Blocks {
  to: TimedBlock
  /** Headers to remember while these blocks can still be reorganized; empty where they are final. */
  headers: BlockHeader[]
  /** In chain order: by block, then by log index. */
  events: ChainEvent[]
  evidence: RangeEvidence[]
}

/** The next blocks. Continues the position `after`; null means that nothing was read before `from`. */
export interface BlocksStep extends Blocks {
  type: 'blocks'
  from: number
  after: BlockRef | null
}

/** The chain left its branch: everything after `ancestor` up to `replaces` goes, these blocks take its place. */
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

/** What a source yields, a job stands for and the writer writes. */
export type ChainStep = BlocksStep | ReorgStep | FinalizedStep
