import type { BlockRef, BlocksStep, ReorgStep } from '../../shared/events/chain-step.ts'

/**
 * The decision about a step, given its network's position:
 * - `apply`: it continues the position, and no other step does;
 * - `seen`: it was applied before;
 * - `future`: steps are missing between the position and this one;
 * - `broken`: it continues a position that never was (another fork, or ranges cut anew). The source must read again
 *   from the position.
 */
export type Continuity = 'apply' | 'seen' | 'future' | 'broken'

/**
 * `endHash`: hash of our block at the step's end, once the position has passed it; undefined for a final block, whose hash is not
 * stored. Another reader may have followed another branch as far.
 */
export function continuityOfBlocks(
  { block: position, startNumber }: { block: BlockRef | null; startNumber: number },
  endHash: string | undefined,
  step: BlocksStep,
): Continuity {
  if (position === null) return step.from === startNumber ? 'apply' : 'future'
  if (step.to.number <= position.number)
    return endHash === undefined || endHash === step.to.hash ? 'seen' : 'broken'
  if (step.after === null || step.after.number < position.number) return 'broken'
  if (step.after.number > position.number) return 'future'
  return step.after.hash === position.hash ? 'apply' : 'broken'
}

/**
 * `ancestorHash`: hash of our block at the ancestor's height; undefined if it is not stored. The block before the first
 * one is never stored: while nothing is final, a reorg may replace everything that was read.
 */
export function continuityOfReorg(
  {
    block: position,
    finalized,
    startNumber,
  }: { block: BlockRef | null; finalized: BlockRef | null; startNumber: number },
  ancestorHash: string | undefined,
  step: ReorgStep,
): Continuity {
  if (position === null) return 'future'
  if (step.to.number === position.number && step.to.hash === position.hash) return 'seen'
  if (step.replaces.number > position.number) return 'future'
  if (step.replaces.number !== position.number || step.replaces.hash !== position.hash) return 'broken'
  if (finalized !== null && step.ancestor.number < finalized.number) return 'broken'
  if (finalized === null && step.ancestor.number === startNumber - 1) return 'apply'
  return ancestorHash === step.ancestor.hash ? 'apply' : 'broken'
}

/** `ourHash`: hash of our block at its height; undefined if it is not stored. */
export function continuityOfFinalized(
  { block: position, finalized }: { block: BlockRef | null; finalized: BlockRef | null },
  ourHash: string | undefined,
  block: BlockRef,
): Continuity {
  if (finalized !== null && block.number <= finalized.number) return 'seen'
  if (position === null || block.number > position.number) return 'future'
  const hash = block.number === position.number ? position.hash : ourHash
  return hash === undefined || hash === block.hash ? 'apply' : 'broken'
}
