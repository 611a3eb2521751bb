import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { copyFileSync, statSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServices, type RunningServices } from './helpers/services.ts'
import { joinValues } from './helpers/tap-arguments.ts'
import { tapFailures } from './helpers/tap-failures.ts'
import { quickTests, restOfTests } from './tiers.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TAP = join(ROOT, 'node_modules/.bin/tap')
/** Failures whose diagnosis is repeated above the last line. */
const FAILURES_TOLD = 10

/** Tests in this folder need no services and start no programs. */
const UNIT_TESTS = 'test/unit'

/**
 * `npm test` runs the tests that everybody needs to trust a change, or the files that are named. `npm run test:all`
 * (`--all`) runs every test with all cases, and `--rest` only those that do more than in `npm test`. Starts the real
 * services that tests need, bundles the programs that they start, runs tap, stops everything and prints
 * `N passed, N failed` as its last line. The exit code is tap's. Unit tests alone run without services.
 */
async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-tests-'))
  const tapFile = join(folder, 'results.tap')
  const interrupted = onInterrupt()
  const { args, isAll, outputFile } = readArguments(process.argv.slice(2))
  let services: RunningServices | undefined
  try {
    let environment: NodeJS.ProcessEnv = { TEST_ALL: String(isAll) }
    if (!areUnitTests(args)) {
      const programs = bundlePrograms(folder)
      services = await startServices(['postgres', 'redis'])
      if (services.redisUrl === null && !redisMayMiss()) return await report(1, tapFile)
      environment = { ...environment, ...environmentOf(services, programs) }
    }
    const code = interrupted.already()
      ? 130
      : await runTap([`--output-file=${tapFile}`, ...args], environment, interrupted.stopWith)
    // The services stop before the last line is printed: they may still print something themselves.
    await services?.stop()
    if (outputFile !== undefined) await copyFile(tapFile, outputFile)
    return await report(code, tapFile)
  } catch (error) {
    console.error(error)
    return await report(1, tapFile)
  } finally {
    await services?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** As production has them, with the package.json that they look for above them. The bundler tells itself what is wrong. */
function bundlePrograms(folder: string): string {
  const programs = join(folder, 'dist')
  const { status } = spawnSync(process.execPath, [join(ROOT, '.config/build.mjs'), programs], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) throw new Error('the programs that tests start cannot be bundled: the reason is above')
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  return programs
}

function redisMayMiss(): boolean {
  const inCi = process.env['CI'] === 'true'
  console.error(
    `redis-server is not on PATH (\`apt-get install redis-server\`): ${inCi ? 'CI must not go on without it' : 'the tests that need it are skipped'}`,
  )
  return !inCi
}

interface Arguments {
  /** For tap: its options, and the files to run. */
  args: string[]
  isAll: boolean
  outputFile: string | undefined
}

/** The caller's `--output-file` becomes a copy: the counts are read from a file of our own. */
function readArguments(raw: string[]): Arguments {
  const given = joinValues(raw)
  const option = '--output-file='
  const outputFile = given.findLast((arg) => arg.startsWith(option))?.slice(option.length)
  const isRest = given.includes('--rest')
  const isAll = isRest || given.includes('--all')
  const args = given.filter((arg) => !arg.startsWith(option) && arg !== '--all' && arg !== '--rest')
  const areNamed = args.some((arg) => !arg.startsWith('-'))
  if (isRest) args.push(...restOfTests())
  // Without files tap runs all that .taprc includes.
  else if (!isAll && !areNamed) args.push(...quickTests())
  return { args, isAll, outputFile }
}

function areUnitTests(args: string[]): boolean {
  const paths = args.filter((arg) => !arg.startsWith('-')).map((arg) => relative(ROOT, resolve(arg)))
  return paths.length > 0 && paths.every((path) => path === UNIT_TESTS || path.startsWith(`${UNIT_TESTS}/`))
}

function environmentOf(services: RunningServices, programs: string): NodeJS.ProcessEnv {
  return {
    TEST_PROGRAMS: programs,
    TEST_DATABASE_URL: services.postgresUrl,
    TEST_DATABASE_TEMPLATE: services.template,
    ...(services.redisUrl !== null && { TEST_REDIS_URL: services.redisUrl }),
  }
}

function runTap(
  given: string[],
  environment: NodeJS.ProcessEnv,
  stopWith: (c: ChildProcess) => void,
): Promise<number> {
  // tap takes files and globs: a folder stands for the tests in it.
  const args = given.map((arg) => (isFolder(arg) ? join(arg, '**/*.test.ts') : arg))
  // Without a terminal tap would print raw TAP, in which failures are hard to find.
  if (!args.some((arg) => arg.startsWith('--reporter') || arg.startsWith('-R'))) {
    args.unshift(process.stdout.isTTY ? '--reporter=base' : '--reporter=terse')
  }
  const child = spawn(process.execPath, [TAP, 'run', ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  stopWith(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 130))
  })
}

function isFolder(arg: string): boolean {
  return statSync(arg, { throwIfNoEntry: false })?.isDirectory() === true
}

/** An interrupted run that finished nothing still says so in the form that scripts read. */
async function report(code: number, tapFile: string): Promise<number> {
  const output = await readFile(tapFile, 'utf8').catch(() => '')
  const { pass, fail } = counts(output)
  // Told again at the end: the reporter told them as they came, pages ago, and what keeps a log may keep its end only.
  const failures = tapFailures(output)
  for (const failure of failures.slice(0, FAILURES_TOLD)) console.log(`\n✖ ${failure}`)
  if (failures.length > FAILURES_TOLD) console.log(`\n… and ${failures.length - FAILURES_TOLD} more failures`)
  const failed = code === 0 ? fail : Math.max(fail, 1)
  // A line of its own: a reporter may leave the cursor, or its escapes, in the middle of one.
  console.log(`\n${pass} passed, ${failed} failed`)
  return code === 0 && (fail > 0 || pass === 0) ? 1 : code
}

/** tap closes its output with the totals of all files: `# { total: 5, pass: 4, fail: 1 }`. */
function counts(output: string): { pass: number; fail: number } {
  const totals = [...output.matchAll(/^# \{ ([^}]*) \}$/gm)].at(-1)?.[1] ?? ''
  const of = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0)
  return { pass: of('pass'), fail: of('fail') }
}

/** Ctrl-C goes to tap, which then ends; without a listener this process would leave before its services. */
function onInterrupt(): { already: () => boolean; stopWith: (child: ChildProcess) => void } {
  let interrupted = false
  let running: ChildProcess | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      interrupted = true
      running?.kill(signal)
    })
  }
  return { already: () => interrupted, stopWith: (child) => void (running = child) }
}

process.exitCode = await main()
