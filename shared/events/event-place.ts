/** A uint256 as decimal text, in the token's base units where it is an amount. */
export type UintText = string
/** 0x and an even number of lower-case hex digits. */
export type HexText = string
/** An EIP-55 checksummed address. */
export type AddressText = string

/**
 * Characters of a `txHash`. Of what was signed off-chain it is the voucher's own text; a longer one is not kept, for
 * records are found by it, and an index's row has a limit.
 */
export const MAX_TX_HASH = 2_048

/** Where on its ledger an event stands. */
export interface EventPlace {
  /** A block's number; on Filecoin a tipset's height. */
  blockNumber: number
  /** A block's hash; on Filecoin a tipset's key. */
  blockHash: string
  /** Unix seconds, the block's own. */
  blockTimeS: number
  /** A transaction's hash; on Filecoin a message's CID, or what was signed off-chain itself: {@link MAX_TX_HASH}. */
  txHash: string
  /** Position of the log (or message) in its block: the order of events within a block. */
  logIndex: number
  /**
   * Position of the log among the logs that this contract wrote in this transaction. Unlike `logIndex` it is the
   * same in every branch in which the transaction runs the same way, and it needs no other contract's logs.
   */
  txLogIndex: number
}

/** What orders the events of one network. */
export type PlaceInChain = Pick<EventPlace, 'blockNumber' | 'logIndex'>

/** Below 0 where `a` stands before `b`. */
export function compareByChain(a: PlaceInChain, b: PlaceInChain): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex
}
