/** A uint256 as decimal text; an amount is in the token's base units. */
export type UintText = string
/** 0x and an even number of lower-case hex digits. */
export type HexText = string
/** An EIP-55 checksummed address. */
export type AddressText = string

/**
 * Most characters of a `txHash`. A voucher has its own text there if it is not longer, because index rows have a limit.
 */
export const MAX_TX_HASH = 2_048

/** The place of an event on its ledger. */
export interface EventPlace {
  /** A block's number; on Filecoin a tipset's height. */
  blockNumber: number
  /** A block's hash; on Filecoin a tipset's key. */
  blockHash: string
  /** Unix seconds of the block. */
  blockTimeS: number
  /** A transaction's hash; on Filecoin a message's CID, or the item signed off-chain itself: {@link MAX_TX_HASH}. */
  txHash: string
  /** Position of the log (or message) in its block: the order of events within a block. */
  logIndex: number
  /**
   * Position of the log among the logs that this contract wrote in this transaction. Unlike `logIndex` it is the same
   * on every fork in which the transaction runs the same way. It does not depend on other contracts' logs.
   */
  txLogIndex: number
}

/** The fields that order the events of one network. */
export type PlaceInChain = Pick<EventPlace, 'blockNumber' | 'logIndex'>

/** Negative if `a` comes before `b`. */
export function compareByChain(a: PlaceInChain, b: PlaceInChain): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex
}
