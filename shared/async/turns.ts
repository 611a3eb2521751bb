import { setImmediate as nextRound } from 'node:timers/promises'
import pLimit from 'p-limit'

const oneByOne = pLimit(1)

/**
 * Resolves in its own round of the event loop, in the order of the calls. Long work awaits it, so that new events wait
 * for one part of the work only.
 */
export function ownTurn(): Promise<void> {
  return oneByOne(() => nextRound())
}
