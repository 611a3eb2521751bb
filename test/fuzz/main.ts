import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { startServices } from '../helpers/services.ts'
import { runCampaign } from './campaign.ts'
import type { FuzzTarget } from './fuzz-target.ts'
import { prepareDatabase } from './prepare-database.ts'
import type { Assignment, TargetReport } from './run-cases.ts'
import { findTarget, TARGETS } from './targets.ts'

const HELP = `Usage: npm run fuzz -- [flags]

Feeds hostile inputs (valid ones with a few spots changed, and plain noise) to everything that reads what others wrote.
A case fails by an exception that is not the module's own refusal, by taking more than a second, by 64 MiB of heap, or
by a result that is not what it must be; it is printed with its seed and number.

  --target <name>   one of those below; may be repeated (all)
  --cases <n>       of each target (as listed)
  --seed <text>     of all choices (the time of day, when missing)
  --case <n>        this case alone, of one target: prints its input
  --seconds <n>     for each target at most (no limit)
  --workers <n>     threads (2)
  --help

Targets with their cases:
${TARGETS.map(({ name, cases, about }) => `  ${name.padEnd(20)}${String(cases).padStart(8)}  ${about}`).join('\n')}

The last ones start a Postgres of their own. Exit codes: 0 all held, 1 something did not, 2 a flag is wrong.`

await runProgram('fuzz', HELP, async () => {
  const { targets, assignments, workers } = flags()
  onStopRequest(() => process.exit(130))
  const services = targets.some(({ needsDatabase }) => needsDatabase)
    ? await startServices(['postgres'])
    : null
  try {
    const databaseUrl = services === null ? undefined : `${services.postgresUrl}/${services.template}`
    if (databaseUrl !== undefined) await prepareDatabase(databaseUrl)
    const reports = await runCampaign({
      assignments,
      workers,
      needs: { databaseUrl },
      onBegin: ({ target, seed, from, count }) =>
        say(`${target}: ${count} cases from ${from} on, seed ${seed}`),
      onProgress: ({ target, count }, done) => say(`${target}: ${done} of ${count}`),
      onEnd: tell,
    })
    const failed = reports.filter(({ failures }) => failures.length > 0).map(({ target }) => target)
    if (failed.length > 0) throw new Error(`failures of ${failed.join(', ')}`)
  } finally {
    await services?.stop()
  }
})

function say(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)
}

function tell(report: TargetReport): void {
  const { target, cases, taken, refused, seconds, slowestMs, retainedBytes, rssBytes } = report
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`
  say(
    `${target}: ${cases} cases in ${seconds.toFixed(1)} s (${Math.round(cases / seconds)}/s), ${taken} taken, ` +
      `${refused} refused, slowest ${slowestMs.toFixed(0)} ms, ${megabytes(retainedBytes)} more heap at the end, ` +
      `process ${megabytes(rssBytes)}`,
  )
  for (const failure of report.failures) {
    say(`FAILED ${target} --seed ${failure.seed} --case ${failure.case}: ${failure.what}`)
    say(`input: ${failure.input}`)
  }
}

interface Flags {
  targets: FuzzTarget[]
  assignments: Assignment[]
  workers: number
}

function flags(): Flags {
  const values = parse()
  const targets = values.target === undefined ? [...TARGETS] : values.target.map(findTarget)
  const seed = values.seed ?? String(Date.now() % 1_000_000)
  const one = values.case === undefined ? null : wholeNumber('--case', values.case, 0)
  if (one !== null && (targets.length > 1 || values.seed === undefined))
    throw new ConfigError('--case needs one --target and the --seed')
  const assignments = targets.map(({ name, cases }) => ({
    target: name,
    seed,
    from: one ?? 0,
    count: one === null ? wholeNumber('--cases', values.cases ?? String(cases), 1) : 1,
    seconds: values.seconds === undefined ? Infinity : wholeNumber('--seconds', values.seconds, 1),
  }))
  return { targets, assignments, workers: wholeNumber('--workers', values.workers, 1) }
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        target: { type: 'string', multiple: true },
        cases: { type: 'string' },
        seed: { type: 'string' },
        case: { type: 'string' },
        seconds: { type: 'string' },
        workers: { type: 'string', default: '2' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}

function wholeNumber(flag: string, text: string, from: number): number {
  const value = Number(text)
  if (/^\d{1,9}$/.test(text) && value >= from) return value
  throw new ConfigError(`${flag} must be a whole number from ${from} on, not "${text}"`)
}
