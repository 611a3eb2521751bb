import type { Db } from '../shared/db/connect.ts'
import { inOneState } from '../shared/db/transaction.ts'
import type { BlockRef } from '../shared/events/chain-step.ts'
import { findPosition, getHeaders, type ChainPosition } from './event-log/chain-position.ts'
import { KnownBranch } from './sources/known-branch.ts'

/** The position of an index that has blocks. */
export interface WrittenPosition extends ChainPosition {
  block: BlockRef
  /** The newest block that is never rolled back, because it was reported final or read as final. */
  final: BlockRef | null
}

/** Returns the position of a network's index; undefined when nothing was ever read. */
export function findWritten(db: Db, network: string): Promise<WrittenPosition | undefined> {
  // Position and headers come from one snapshot, because headers that do not lead up to the position would count as
  // final.
  return inOneState(db, async (trx) => {
    const position = await findPosition(trx, network)
    if (position?.block == null) return undefined
    const { block, finalized } = position
    const branch = new KnownBranch({ position: block, headers: await getHeaders(trx, network), finalized })
    return { ...position, block, final: branch.final }
  })
}
