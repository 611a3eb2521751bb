import type { BlockRef } from '../../shared/events/chain-step.ts'

/**
 * Returns the last block that both branches have, or null when the compared heights share none. Both lists ascend
 * without gaps, but may begin and end at different heights. Branches share a prefix, so the highest equal hash decides.
 */
export function forkPoint(ours: readonly BlockRef[], theirs: readonly BlockRef[]): BlockRef | null {
  const hashes = new Map(theirs.map((block) => [block.number, block.hash]))
  for (let index = ours.length - 1; index >= 0; index -= 1) {
    const block = ours[index]
    if (block !== undefined && hashes.get(block.number) === block.hash) {
      return { number: block.number, hash: block.hash }
    }
  }
  return null
}
