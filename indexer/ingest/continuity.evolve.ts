import type { BlockRef, BlocksStep, ReorgStep } from '../../shared/events/chain-step.ts'

/**
 * What to do with a step, given how far its network is written:
 * - `apply`: it continues the position, and nothing else does;
 * - `seen`: it was applied before;
 * - `future`: steps are missing between the position and it;
 * - `broken`: it continues a position that never was (another branch, or ranges cut anew). The source must read again
 *   from the position.
 */
export type Continuity = 'apply' | 'seen' | 'future' | 'broken'

export function continuityOfBlocks(
  position: BlockRef | null,
  startNumber: number,
  step: BlocksStep,
): Continuity {
  if (position === null) return step.from === startNumber ? 'apply' : 'future'
  if (step.to.number <= position.number) return 'seen'
  if (step.after === null || step.after.number < position.number) return 'broken'
  if (step.after.number > position.number) return 'future'
  return step.after.hash === position.hash ? 'apply' : 'broken'
}

/**
 * `ancestorHash`: of our block at the ancestor's height; undefined when it is not remembered. The block before the
 * first one that is read is nobody's: while nothing is final, a reorg may replace everything that was read.
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

/** `ourHash`: of our block at its height; undefined when it is not remembered. */
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
