import { machineFacts } from './measure.ts'
import type { QueueKind } from './services.ts'

/**
 * Returns the results of `runs` runs after one that is not counted. Each is printed on standard error once it is over.
 */
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

/** The setting of the figures; part of each output, like the machine. */
interface MeasuredOn {
  postgres: Record<string, string>
  /** Missing: there is no queue, or the figures cover both kinds. */
  queue?: QueueKind
}

/** Prints the figures once, at the end: as one JSON, or as Markdown. */
export function printFigures(json: boolean, on: MeasuredOn, figures: object, markdown: string): void {
  const machine = machineFacts()
  if (json) {
    console.log(JSON.stringify({ machine, ...on, ...figures }))
    return
  }
  const queue = on.queue === undefined ? '' : `; queue on ${on.queue}`
  console.log(`${machine}; Postgres ${JSON.stringify(on.postgres)}${queue}\n\n${markdown}`)
}
