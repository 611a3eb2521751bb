import { appendFileSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import { messageOf } from '../../shared/errors.ts'
import type { Report } from './simulation.ts'
import type { Tally } from './tally.ts'

const counts = z.record(z.string(), z.number())

/** One line of a file of runs. */
const runRecord = z.object({
  seed: z.string(),
  /** Minutes of faults. */
  minutes: z.number(),
  /** Time from the first process to the last. */
  seconds: z.number(),
  requests: z.number(),
  faults: counts,
  mishaps: counts,
  /** `EVM 7`: number of reorgs of 7 blocks. */
  reorgs: counts,
  /** Which process was killed, and where. */
  kills: counts,
  records: z.number(),
  states: z.number(),
  answers: z.number(),
  slowestAnswerMs: z.number(),
  complaints: z.array(z.string()),
})
export type RunRecord = z.infer<typeof runRecord>

export function recordOf(report: Report, minutes: number): RunRecord {
  const { seed, requests, toll, parts, records, states, answers, slowestAnswerMs, complaints } = report
  return {
    ...{ seed, minutes, seconds: parts.reduce((sum, [, seconds]) => sum + seconds, 0), requests },
    ...{ faults: plain(report.faults), mishaps: plain(toll.mishaps), reorgs: plain(toll.reorgs) },
    ...{ kills: plain(toll.kills), records, states, answers, slowestAnswerMs, complaints },
  }
}

/** The record of a run that could not be examined because it did not finish. */
export function unexaminedRun(seed: string, minutes: number): RunRecord {
  return {
    ...{ seed, minutes, seconds: 0, requests: 0, faults: {}, mishaps: {}, reorgs: {}, kills: {} },
    ...{ records: 0, states: 0, answers: 0, slowestAnswerMs: 0 },
    complaints: ['the run did not come to its end'],
  }
}

function plain(tally: Tally): Record<string, number> {
  return Object.fromEntries([...tally].sort(([one], [other]) => (one < other ? -1 : 1)))
}

export function appendRun(file: string, run: RunRecord): void {
  appendFileSync(file, `${JSON.stringify(run)}\n`)
}

/** Returns the runs, oldest first. Throws an Error that names the line where one is no run. */
export function readRuns(file: string): RunRecord[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line.trim() === '') return []
      try {
        return [runRecord.parse(JSON.parse(line))]
      } catch (error) {
        throw new Error(`${file}, line ${index + 1}: ${messageOf(error)}`, { cause: error })
      }
    })
}
