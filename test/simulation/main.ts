import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { hasRedisServer } from '../helpers/start-services.ts'
import { describeTally, simulate, type Report } from './simulation.ts'

const HELP = `Usage: npm run simulate -- [flags]

The whole service (Postgres, queue, indexers, API) on both devnet chains while nodes fail and lie, chains reorganize
and processes are killed and frozen, all chosen by a seed; then the faults stop and everything is examined: records
and loans against the chains, every answer that readers got, replay, leaks.

  --seed <text>     of all choices (the time of day, when missing)
  --minutes <m>     of faults, for each seed (0.5)
  --runs <n>        so many seeds: <seed>, <seed>-2, <seed>-3 … (1)
  --help

Kept seeds that once failed: test/simulation/regression-seeds.json. Exit codes: 0 all held, 1 something did not (the
seed is printed, and where the programs' output is), 2 a flag is wrong.`

await runProgram('simulate', HELP, async () => {
  const { seed, minutes, runs } = flags()
  onStopRequest(() => process.exit(130))
  const failed: string[] = []
  for (let number = 1; number <= runs; number += 1) {
    const one = number === 1 ? seed : `${seed}-${number}`
    const report = await simulate({ seed: one, minutes, hasRedis: hasRedisServer(), onLine: say })
    tell(report)
    if (report.complaints.length > 0) failed.push(one)
  }
  if (failed.length > 0) throw new Error(`the promises did not hold with the seeds ${failed.join(', ')}`)
})

function say(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)
}

function tell(report: Report): void {
  const { records, loans, channels, states, answers, excused, slowestAnswerMs } = report
  say(`${records} records, ${loans} loans, ${channels} channels are the chains'`)
  say(`${answers} answers, each one of ${states} states; ${excused} times 503; slowest ${slowestAnswerMs} ms`)
  say(`faults in ${report.requests} requests: ${describeTally(report.faults)}`)
  say(`mishaps: ${describeTally(report.mishaps)}`)
  say(report.programs.join('; '))
  if (report.complaints.length === 0) {
    say(`seed ${report.seed}: everything held`)
    return
  }
  const file = join(tmpdir(), `loan-activity-simulation-${report.seed.replaceAll(/\W/g, '_')}.log`)
  writeFileSync(file, report.output)
  for (const complaint of report.complaints.slice(0, 20)) say(`WRONG: ${complaint}`)
  say(`seed ${report.seed}: ${report.complaints.length} complaints; the programs' output is in ${file}`)
}

function flags(): { seed: string; minutes: number; runs: number } {
  const values = parse()
  const [minutes, runs] = [Number(values.minutes), Number(values.runs)]
  if (!(minutes > 0)) throw new ConfigError('--minutes must be a number above 0')
  if (!Number.isInteger(runs) || runs < 1) throw new ConfigError('--runs must be a whole number from 1 on')
  return { seed: values.seed ?? String(Date.now() % 1_000_000), minutes, runs }
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string', default: '0.5' },
        runs: { type: 'string', default: '1' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}
