import { readFileSync } from 'node:fs'
import { brokenRules, leaks, replayDiffers } from './examine.ts'
import { EXAMINER, openPlace, type Ground, type Place, type QueueKind } from './ground.ts'
import type { Moment, PointCount } from './kill-order.ts'
import { Trial } from './trial.ts'

/** The place at which an indexer is killed. */
export interface Case {
  point: string
  moment: Moment
}

export interface Verdict {
  /** Cases in which the indexer survived, because the point was not reached again when its turn came. */
  missed: Case[]
  /** Broken promises. */
  complaints: string[]
  /** Time from the last death until both networks stood at their nodes' heads; null where none died. */
  recoveredMs: number | null
  /** The indexers' output, after a failure. */
  output: string
}

/** Returns two cases per point: before it and after it. */
export function casesOf(points: readonly PointCount[]): Case[] {
  return points.flatMap(({ id }) => [
    { point: id, moment: 'before' as const },
    { point: id, moment: 'after' as const },
  ])
}

/** Returns every point that an undisturbed indexer passes in the first two stages, and what is wrong at the end. */
export async function recordPoints(
  ground: Ground,
  place: Place,
): Promise<{ points: PointCount[]; wrong: string[] }> {
  const trial = new Trial(ground, place)
  const report = trial.nextReport()
  await trial.record(report)
  const points = JSON.parse(readFileSync(report, 'utf8')) as PointCount[]
  return { points, wrong: [...(await trial.settle(null)), ...(await brokenRules(place.db))] }
}

/**
 * Kills one indexer after the other on the same index, each at its point. A death rolls its transaction back, so that
 * the next indexer reaches the same place. The last one survives, and everything is examined.
 */
export async function tryCases(
  ground: Ground,
  queue: QueueKind,
  cases: readonly Case[],
  wanted: readonly string[],
): Promise<Verdict> {
  const place = await openPlace(ground, queue)
  const trial = new Trial(ground, place)
  const missed: Case[] = []
  try {
    const complaints: string[] = []
    try {
      for (const one of cases) if (!(await trial.kill(one.point, one.moment))) missed.push(one)
      complaints.push(...(await trial.settle(wanted)), ...(await leaks(place.db, EXAMINER)))
      complaints.push(...(await brokenRules(place.db)), ...(await replayDiffers(place.db)))
    } catch (error) {
      complaints.push(String(error))
    }
    const output = complaints.length > 0 ? trial.output : ''
    return { missed, complaints, recoveredMs: trial.recoveredMs, output }
  } finally {
    await place.leave()
  }
}
