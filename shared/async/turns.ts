import { setImmediate as nextRound } from 'node:timers/promises'
import pLimit from 'p-limit'

const oneByOne = pLimit(1)

/**
 * Resolves in a round of the event loop of its own, in the order of the calls. Long work waits for it, so that what
 * arrived meanwhile waits for one piece of work and not for all of them.
 */
export function ownTurn(): Promise<void> {
  return oneByOne(() => nextRound())
}
