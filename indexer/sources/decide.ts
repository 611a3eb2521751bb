import type { BlockRef } from '../../shared/events/chain-step.ts'

/** (pure) Decides what one look at the chain means. */

/** The known part of our branch. */
export interface OurBranch {
  /** The last block delivered, or null before the first. */
  position: BlockRef | null
  /** The height after the position. */
  next: number
  /** The newest block that is never rolled back. */
  final: BlockRef | null
  /** The last finalized block that was reported. */
  told: BlockRef | null
  /** Returns null when our block at that height is unknown. */
  hashAt(number: number): string | null
}

/** The newest block to index. */
export interface HeadSeen extends BlockRef {
  /** The hash at our position's height on the head's branch, or null unless the head is above our position. */
  atPosition: string | null
}

/**
 * - idle: the head is our position, or our first block does not exist yet
 * - behind: the head is one of our blocks below the position (a replica that is behind); nothing is rolled back
 * - backfill: final blocks are ahead of our position, which is on the head's branch
 * - tip: the head continues our position
 * - reorg: the head is on another branch
 * - contradiction: the head or the finalized block contradicts a final block, or is below every remembered block
 */
export type Outcome =
  | { is: 'idle' | 'behind' | 'tip' | 'reorg' }
  | { is: 'backfill'; to: BlockRef }
  | { is: 'contradiction'; message: string }

export function decide(ours: OurBranch, head: HeadSeen, finalized: BlockRef | null): Outcome {
  const { position, next, final } = ours
  if (final !== null && head.number < final.number)
    return contradiction(`the node's head ${head.number} is below block ${final.number}, which is final`)
  if (position !== null) {
    const isAbove = head.number > position.number
    const [known, seen] = isAbove ? [position.hash, head.atPosition] : [ours.hashAt(head.number), head.hash]
    if (known === null)
      return contradiction(`the node's head ${head.number} is below the blocks that are remembered`)
    if (known !== seen) return { is: 'reorg' }
  }
  if (finalized !== null && finalized.number >= next && head.number >= next)
    return { is: 'backfill', to: finalized }
  const refuted = refutes(ours, finalized)
  if (refuted !== null) return contradiction(refuted)
  if (head.number >= next) return { is: 'tip' }
  return { is: position === null || head.number === position.number ? 'idle' : 'behind' }
}

/** Returns how an unreported finalized block contradicts our branch, or null if it does not. */
export function refutes(
  { told, hashAt }: Pick<OurBranch, 'told' | 'hashAt'>,
  finalized: BlockRef | null,
): string | null {
  if (finalized === null || (told !== null && finalized.number <= told.number)) return null
  const ours = hashAt(finalized.number)
  if (ours === null || ours === finalized.hash) return null
  return `block ${finalized.number} is ${ours} on our branch, but the node says that ${finalized.hash} is final`
}

function contradiction(message: string): Outcome {
  return { is: 'contradiction', message }
}
