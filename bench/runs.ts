import { machineFacts } from './measure.ts'
import type { QueueKind } from './services.ts'

/** What `runs` runs gave, after one that is not counted; each is told on standard error as soon as it is over. */
export async function runsAfterWarmUp<T>(
  runs: number,
  measure: () => Promise<T>,
  inWords = (run: T): string => JSON.stringify(run),
): Promise<T[]> {
  const counted: T[] = []
  for (let number = 0; number <= runs; number += 1) {
    const run = await measure()
    console.error(`${number === 0 ? 'warm-up' : `run ${number}`}: ${inWords(run)}`)
    if (number > 0) counted.push(run)
  }
  return counted
}

/** What figures are of; part of each output, as the machine is. */
interface MeasuredOn {
  /** Settings of Postgres. */
  postgres: Record<string, string>
  /** Missing: there is no queue, or the figures are of both. */
  queue?: QueueKind
}

/** Prints what was measured, once, at the end: as one JSON, or as Markdown. */
export function printFigures(json: boolean, on: MeasuredOn, figures: object, markdown: string): void {
  const machine = machineFacts()
  if (json) {
    console.log(JSON.stringify({ machine, ...on, ...figures }))
    return
  }
  const queue = on.queue === undefined ? '' : `; queue on ${on.queue}`
  console.log(`${machine}; Postgres ${JSON.stringify(on.postgres)}${queue}\n\n${markdown}`)
}
