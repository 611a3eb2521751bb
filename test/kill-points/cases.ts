import { readFileSync } from 'node:fs'
import { brokenRules, leaks, replayDiffers } from './examine.ts'
import { EXAMINER, openPlace, type Ground, type Place, type QueueKind } from './ground.ts'
import type { Moment, PointCount } from './kill-order.ts'
import { Trial } from './trial.ts'

/** Where an indexer is to die. */
export interface Case {
  point: string
  moment: Moment
}

export interface Verdict {
  /** The cases in which it did not die: their time was over when they came to be tried. */
  missed: Case[]
  /** What is wrong. */
  complaints: string[]
  /** From the last death until both networks stood where the nodes do; null where none died. */
  recoveredMs: number | null
  /** What the indexers said, where something is wrong. */
  output: string
}

/** Before and after each of these points. */
export function casesOf(points: readonly PointCount[]): Case[] {
  return points.flatMap(({ id }) => [
    { point: id, moment: 'before' as const },
    { point: id, moment: 'after' as const },
  ])
}

/** Notes every point that an undisturbed indexer passes in the first two stages, and what the index says in the end. */
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
 * One indexer after the other dies on the same index, each at its point; what a transaction did is undone with each death,
 * so that the next one comes there again. Then one lives on, and everything is examined.
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
