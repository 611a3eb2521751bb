import { RetryableError } from '../../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'
import { forkPoint } from './fork-point.ts'
import type { KnownBranch } from './known-branch.ts'

/** Headers compared at once; the number doubles while none is shared. */
const FIRST_COMPARED = 32

/** The last block that both branches share, and the endpoint's headers above it. */
export interface LastShared {
  ancestor: BlockRef
  above: BlockHeader[]
}

/**
 * Returns the last block at or below `upTo` that our branch and the endpoint's share, and the endpoint's headers from
 * there to `upTo`. `headersTo` requests the endpoint's headers. Throws a RetryableError when not even a final block is
 * shared.
 */
export async function lastShared(
  branch: KnownBranch,
  startBlock: number,
  upTo: number,
  headersTo: (from: number, to: number) => Promise<BlockHeader[]>,
): Promise<LastShared> {
  const { final, headers } = branch
  const ours = final === null ? headers : [final, ...headers]
  const lowest = ours[0]
  if (lowest === undefined) throw new RetryableError('no block is remembered that could be shared')
  let above: BlockHeader[] = []
  let high = upTo
  for (let width = FIRST_COMPARED; high >= lowest.number; width *= 2) {
    const low = Math.max(lowest.number, high - width + 1)
    const theirs = await headersTo(low, high)
    const shared = forkPoint(ours, theirs)
    above = [...theirs.filter(({ number }) => shared === null || number > shared.number), ...above]
    if (shared !== null) return { ancestor: shared, above }
    if (low === lowest.number) return { ancestor: belowAll(branch, startBlock, lowest, theirs[0]), above }
    high = low - 1
  }
  return { ancestor: belowAll(branch, startBlock, lowest, undefined), above }
}

/**
 * Handles the case that not even the lowest remembered block is shared. The very first block may be replaced while no
 * block is final; otherwise this throws a RetryableError.
 */
function belowAll(
  { final }: KnownBranch,
  startBlock: number,
  lowest: BlockRef,
  theirs: BlockHeader | undefined,
): BlockRef {
  if (final === null && lowest.number === startBlock && startBlock > 0 && theirs !== undefined)
    return { number: startBlock - 1, hash: theirs.parentHash }
  const why = final === null ? 'is the lowest that is remembered' : 'is final'
  throw new RetryableError(
    `block ${lowest.number} is ${theirs?.hash ?? 'unknown'} there, but ${lowest.hash} ${why}: this endpoint is not believed`,
  )
}
