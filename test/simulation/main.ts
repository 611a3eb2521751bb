import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { hasRedisServer } from '../helpers/start-services.ts'
import { measureRecovery } from './measure-recovery.ts'
import { appendRun, readRuns, recordOf, unexaminedRun } from './run-record.ts'
import { EXAMINED, runSeeds } from './run-seeds.ts'
import { builtProgram, PROGRAMS } from './service-process.ts'
import { simulate, type Report } from './simulation.ts'
import { soak, type SoakOptions } from './soak.ts'
import { soakAccount } from './soak-account.ts'
import type { Sample } from './soak-sample.ts'
import { recoveryTable, sumRuns } from './sum-runs.ts'
import { describeTally } from './tally.ts'

const HELP = `Usage: npm run simulate -- [flags]

The whole service (Postgres, queue, indexers, API) on both devnet chains while nodes fail and lie, chains reorganize,
processes are killed and frozen, clocks step and the disk is full, all chosen by a seed; then the faults stop and
everything is examined: records and loans against the chains, every answer that readers got, replay, leaks.

  --seed <text>     of all choices (the time of day, when missing)
  --poll-ms <n>     between two looks at a node (the seed chooses 100, 400 or 1000)
  --minutes <m>     of faults, for each seed (0.5)
  --runs <n>        so many seeds: <seed>, <seed>-2, <seed>-3 … (1)
  --jobs <n>        so many of them side by side (1)
  --built           runs what \`npm run build\` has compiled: what is killed starts again in half the time
  --attacks         strangers attack queue, database and API meanwhile; then \`verify\` and \`audit\` look at everything
  --out <file>      a line of JSON for each run is appended to this file
  --sum <file>      runs nothing: prints what such a file says altogether, in Markdown
  --soak            instead: for --minutes, ten times the devnet's pace with light faults; what processes, database and
                    queue hold meanwhile goes to --out, and how it grew is told
  --queue <where>   of the soak: redis or postgres (redis where there is one)
  --recovery        instead: each kind of fault by itself, --runs times, and how long the service then takes to be up
                    to date
  --help

Clocks step where the Debian package \`faketime\` is installed, the disk fills where mounting one is allowed; where not,
a run says so. Kept seeds that once failed: test/simulation/regression-seeds.json. Exit codes: 0 all held, 1 something
did not (the seed is printed, and where the programs' output is), 2 a flag is wrong.`

await runProgram('simulate', HELP, async () => {
  const values = flags()
  const { seed, minutes, runs, jobs, built, out, sum } = values
  const how = { hasRedis: hasRedisServer(), isBuilt: built, hasAttacks: values.attacks, onLine: say }
  onStopRequest(() => process.exit(130))
  if (sum !== undefined) {
    console.log(sumRuns(readRuns(sum)))
  } else if (values.soak) {
    refuse(await soakAndTell({ ...how, ...values }))
  } else if (values.recovery) {
    const recoveries = await measureRecovery({ seed, runs, ...how })
    console.log(recoveryTable(recoveries))
    if (recoveries.some(({ seconds }) => seconds === null)) throw new Error('the service did not recover')
  } else if (runs > 1) {
    const seeds = Array.from({ length: runs }, (_, index) => (index === 0 ? seed : `${seed}-${index + 1}`))
    const own = ['--minutes', `${minutes}`]
    if (built) own.push('--built')
    if (values.attacks) own.push('--attacks')
    if (values.pollIntervalMs !== undefined) own.push('--poll-ms', `${values.pollIntervalMs}`)
    if (out !== undefined) own.push('--out', out)
    // The work before and after the faults takes a minute, on a busy machine several.
    const mostMs = (minutes + 12) * 60_000
    const onUnexamined = (lost: string): void => {
      if (out !== undefined) appendRun(out, unexaminedRun(lost, minutes))
    }
    refuse(await runSeeds({ seeds, jobs, flags: own, mostMs, onUnexamined }))
  } else {
    const report = await simulate({ seed, minutes, pollIntervalMs: values.pollIntervalMs, ...how })
    if (out !== undefined) appendRun(out, recordOf(report, minutes))
    process.send?.(EXAMINED)
    tell(report)
    refuse(report.complaints.length > 0 ? [seed] : [])
  }
})

/** Returns the seed when a promise was broken. */
async function soakAndTell(options: SoakOptions & { out?: string | undefined }): Promise<string[]> {
  const { out, seed } = options
  const onSample = (sample: Sample): void => {
    if (out !== undefined) appendFileSync(out, `${JSON.stringify(sample)}\n`)
  }
  const report = await soak({ ...options, onSample })
  say(`happened: ${describeTally(report.happened)}`)
  say(`node faults: ${describeTally(report.faults)}`)
  say(`${report.records} records, ${report.loans} loans are the chains'`)
  for (const complaint of report.complaints.slice(0, 50)) say(`WRONG: ${complaint}`)
  console.log(soakAccount(report.samples))
  return report.complaints.length > 0 ? [seed] : []
}

function refuse(failed: readonly string[]): void {
  if (failed.length > 0) throw new Error(`the promises did not hold with the seeds ${failed.join(', ')}`)
}

function say(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)
}

function tell(report: Report): void {
  const { records, loans, channels, states, answers, excused, slowestAnswerMs, toll } = report
  say(`${records} records, ${loans} loans, ${channels} channels are the chains'`)
  say(`${answers} answers, each one of ${states} states; ${excused} times 503; slowest ${slowestAnswerMs} ms`)
  say(`faults in ${report.requests} requests: ${describeTally(report.faults)}`)
  say(`reorgs by depth: ${describeTally(toll.reorgs)}`)
  say(`mishaps: ${describeTally(toll.mishaps)}`)
  say(`kills: ${describeTally(toll.kills)}`)
  say(`seconds: ${report.parts.map(([what, seconds]) => `${what} ${seconds.toFixed(1)}`).join(', ')}`)
  say(report.programs.join('; '))
  if (report.complaints.length === 0) {
    say(`seed ${report.seed}: everything held`)
    return
  }
  const file = join(tmpdir(), `loan-activity-simulation-${report.seed.replaceAll(/\W/g, '_')}.log`)
  writeFileSync(file, report.output)
  for (const complaint of report.complaints.slice(0, 50)) say(`WRONG: ${complaint}`)
  say(`seed ${report.seed}: ${report.complaints.length} complaints; the programs' output is in ${file}`)
}

function flags() {
  const values = parse()
  const [minutes, runs, jobs] = [Number(values.minutes), Number(values.runs), Number(values.jobs)]
  if (!(minutes > 0)) throw new ConfigError('--minutes must be a number above 0')
  for (const [name, number] of Object.entries({ runs, jobs })) {
    if (!Number.isInteger(number) || number < 1)
      throw new ConfigError(`--${name} must be a whole number from 1 on`)
  }
  const pollIntervalMs = values['poll-ms'] === undefined ? undefined : Number(values['poll-ms'])
  if (pollIntervalMs !== undefined && !(Number.isInteger(pollIntervalMs) && pollIntervalMs > 0))
    throw new ConfigError('--poll-ms must be a whole number from 1 on')
  // Missing programs would be restarted for ever, like killed ones.
  const missing = PROGRAMS.map(builtProgram).find((file) => !existsSync(file))
  if (values.built && missing !== undefined)
    throw new ConfigError(`--built runs ${missing}, which is not there: \`npm run build\` first`)
  return {
    ...values,
    pollIntervalMs,
    queue: queueOf(values.queue),
    seed: values.seed ?? String(Date.now() % 1_000_000),
    minutes,
    runs,
    jobs,
  }
}

function queueOf(wanted: string | undefined): 'redis' | 'postgres' {
  const queue = wanted ?? (hasRedisServer() ? 'redis' : 'postgres')
  if (queue !== 'redis' && queue !== 'postgres') throw new ConfigError('--queue is redis or postgres')
  if (queue === 'redis' && !hasRedisServer())
    throw new ConfigError('--queue redis needs redis-server: `apt-get install redis-server`')
  return queue
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string', default: '0.5' },
        'poll-ms': { type: 'string' },
        runs: { type: 'string', default: '1' },
        jobs: { type: 'string', default: '1' },
        out: { type: 'string' },
        sum: { type: 'string' },
        attacks: { type: 'boolean', default: false },
        built: { type: 'boolean', default: false },
        recovery: { type: 'boolean', default: false },
        soak: { type: 'boolean', default: false },
        queue: { type: 'string' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}
