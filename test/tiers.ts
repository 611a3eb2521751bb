import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../', import.meta.url)

/**
 * Files that `npm test` leaves to `npm run test:all`, by the beginning of their paths: each takes long, and others ask
 * whether the promise holds without its faults.
 */
const SLOW_TESTS = [
  'test/chain/',
  'test/e2e/both-chains',
  'test/e2e/changed-contracts',
  'test/e2e/failover',
  'test/e2e/hostile-',
  'test/e2e/kill-points',
  'test/e2e/other-history',
  'test/e2e/simulation',
]

/** These helpers give a file fewer cases, or fewer kinds of queue, in `npm test`. */
const LESS_IN_QUICK_RUNS = /from '[./]+helpers\/(cases|queue-kinds)\.ts'/

/** The files of `npm test`. */
export function quickTests(): string[] {
  return allTests().filter((path) => !isSlow(path))
}

/** The files that do more in `npm run test:all` than in `npm test`. */
export function restOfTests(): string[] {
  return allTests().filter((path) => isSlow(path) || LESS_IN_QUICK_RUNS.test(read(path)))
}

function allTests(): string[] {
  return readdirSync(fileURLToPath(new URL('test', ROOT)), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path}`)
    .filter((path) => path.endsWith('.test.ts'))
    .sort()
}

function isSlow(path: string): boolean {
  return SLOW_TESTS.some((beginning) => path.startsWith(beginning))
}

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}
