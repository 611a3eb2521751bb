import { createRandom } from '../../devnet/evm/random.ts'
import type { Ground, QueueKind } from './ground.ts'
import type { Moment, PointCount } from './kill-order.ts'
import { tryCase, type Case, type Verdict } from './try-case.ts'

export const MOMENTS: readonly Moment[] = ['before', 'after']

/** Both moments of a point; of the times that it is passed, one that the seed chooses. */
export function casesOf(point: PointCount, queue: QueueKind, seed: string): Case[] {
  return MOMENTS.map((moment) => {
    const random = createRandom(`${seed}/${point.id}/${moment}`)
    return { queue, point: point.id, moment, occurrence: random.int(1, point.count) }
  })
}

/** A point whose number of times depends on the clock may be passed less often than before: then the first time counts. */
export async function tryReachable(ground: Ground, one: Case, wanted: readonly string[]): Promise<Verdict> {
  const verdict = await tryCase(ground, one, wanted)
  if (verdict.reached || verdict.complaints.length > 0 || one.occurrence === 1) return missed(verdict)
  return missed(await tryCase(ground, { ...one, occurrence: 1 }, wanted))
}

function missed(verdict: Verdict): Verdict {
  return verdict.reached
    ? verdict
    : { ...verdict, complaints: [...verdict.complaints, 'it did not die there'] }
}

/** Works on all items, so many at once, in their order. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
