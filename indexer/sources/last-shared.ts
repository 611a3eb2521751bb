import { RetryableError } from '../../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'
import { forkPoint } from './fork-point.ts'
import type { KnownBranch } from './known-branch.ts'

/** Headers that are compared at once; doubled as long as none is shared. */
const FIRST_COMPARED = 32

/** The last block of both branches, and the endpoint's headers above it. */
export interface LastShared {
  ancestor: BlockRef
  above: BlockHeader[]
}

/**
 * The last block at or below `upTo` that the endpoint's branch and ours share, and the endpoint's headers above it up to there.
 * `headersTo` asks for the endpoint's headers. Throws a RetryableError where not even a final block is shared.
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

/** Not even the lowest block that is remembered is shared: the first block of all may be replaced while none is final. */
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
