import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../', import.meta.url)

/**
 * Tests that `npm test` leaves to `npm run test:all`, by the beginning of their paths: they take long, and others ask
 * whether the promise holds without their faults.
 */
const SLOW_TESTS = [
  'test/chain/',
  'test/e2e/',
  'test/postgres/api/drain',
  'test/postgres/api/filecoin-parts',
  'test/postgres/api/pipelining',
  'test/postgres/api/program',
  'test/postgres/api/read-database',
  'test/postgres/api/rolling-restart',
  'test/postgres/cli/',
  'test/postgres/fuzz',
  'test/postgres/over-tls',
  'test/postgres/pooler/',
  'test/postgres/shared/db/leases',
  'test/queue/hostile-jobs',
  'test/queue/redis-away',
  'test/queue/redis-cluster',
  'test/queue/redis-sentinel',
  'test/queue/redis-users',
  'test/queue/webhook-trial',
  'test/queue/webhooks.test.ts',
  'test/unit/fuzz',
]

/** Exceptions from {@link SLOW_TESTS}: the whole service, and each of its programs, at least once. */
const QUICK_TESTS = [
  'test/e2e/index-equals-chain',
  'test/e2e/readme',
  'test/e2e/standby',
  'test/e2e/start.test.ts',
  'test/e2e/unreachable-node',
  'test/postgres/cli/json',
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
  const isIn = (list: string[]): boolean => list.some((beginning) => path.startsWith(beginning))
  return isIn(SLOW_TESTS) && !isIn(QUICK_TESTS)
}

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}
