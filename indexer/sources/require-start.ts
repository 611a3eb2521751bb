import { CallFailed } from './rpc/rpc-error.ts'

/**
 * Throws a CallFailed when a node has not reached the first block to index, so that other endpoints are asked. `head`
 * is the node's height; `behind` is the number of blocks from there down to the newest block to index.
 */
export function requireStart(
  { head, behind }: { head: number; behind: number },
  name: 'startBlock' | 'startEpoch',
  start: number,
): void {
  if (start === 0 || head - behind >= start) return
  const below = behind === 0 ? '' : ` (and is indexed up to ${behind} below it)`
  throw new CallFailed(`is at block ${head}${below}, ${name} is ${start}: waiting`, 'missing-block')
}
