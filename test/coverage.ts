import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COLLECTED = join(ROOT, '.tap/coverage')
/** Programs that e2e tests start as processes are not counted, so these folders are the ones that count. */
const DEFAULT_TESTS = ['test/unit', 'test/postgres', 'test/queue']
const NOT_COUNTED = ['test/**', 'devnet/**', 'bench/**']

/**
 * `npm run test:coverage` runs tests with tap's coverage and prints which lines of the service they did not reach.
 * Arguments are the files to run instead of {@link DEFAULT_TESTS}.
 */
function main(): number {
  const tests = process.argv.slice(2)
  const { status } = run('test/run.ts', [
    ...(tests.length === 0 ? DEFAULT_TESTS : tests),
    ...['--no-disable-coverage', '--allow-incomplete-coverage', '--coverage-report=none'],
    ...NOT_COUNTED.map((pattern) => `--coverage-exclude=${pattern}`),
  ])
  for (const name of readdirSync(COLLECTED)) addSources(join(COLLECTED, name))
  run('node_modules/.bin/tap', ['report', 'text', '--allow-incomplete-coverage'])
  return status ?? 1
}

interface Collected {
  'source-map-cache': Record<string, { data: { sourcesContent?: (string | null)[] } | null }>
}

/**
 * The loader leaves sources out of its maps, and the report would then count no line at all. Maps of bundled programs
 * are left out: the bundles are gone, and their lines do not count.
 */
function addSources(file: string): void {
  const collected = JSON.parse(readFileSync(file, 'utf8')) as Collected
  const maps = Object.entries(collected['source-map-cache']).filter(([url]) =>
    fileURLToPath(url).startsWith(ROOT),
  )
  for (const [url, { data }] of maps)
    if (data !== null) data.sourcesContent = [readFileSync(fileURLToPath(url), 'utf8')]
  collected['source-map-cache'] = Object.fromEntries(maps)
  writeFileSync(file, JSON.stringify(collected))
}

function run(program: string, args: string[]): { status: number | null } {
  return spawnSync(process.execPath, ['--import=tsx', join(ROOT, program), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  })
}

process.exitCode = main()
