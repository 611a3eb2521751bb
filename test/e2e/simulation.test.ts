import { readFileSync } from 'node:fs'
import t from 'tap'
import { hasRedisServer } from '../helpers/start-services.ts'
import { simulate } from '../simulation/simulation.ts'
import { soak } from '../simulation/soak.ts'
import { soakAccount } from '../simulation/soak-account.ts'
import { add, describeTally, type Tally } from '../simulation/tally.ts'

/** A few seeds of `npm run simulate`, and those that once failed. More of them: `npm run simulate -- --runs 50`. */

t.setTimeout(1_200_000)

const seeds: { seed: string; minutes: number; pollIntervalMs?: number; what: string }[] = [
  { seed: 'npm test, one', minutes: 0.4, pollIntervalMs: 100, what: 'a fixed seed' },
  { seed: 'npm test, two', minutes: 0.4, pollIntervalMs: 400, what: 'a fixed seed' },
  ...(JSON.parse(
    readFileSync(new URL('../simulation/regression-seeds.json', import.meta.url), 'utf8'),
  ) as typeof seeds),
]

const faults: Tally = new Map()
for (const { seed, minutes, pollIntervalMs, what } of seeds) {
  void t.test(`seed "${seed}": ${what}`, { timeout: 580_000 }, async (t) => {
    const report = await simulate({
      ...{ seed, minutes, pollIntervalMs, hasRedis: hasRedisServer() },
      onLine: (line) => t.comment(line),
    })
    t.comment(`faults: ${describeTally(report.faults)}`)
    t.comment(`${report.answers} answers, each one of ${report.states} states; ${report.programs.join('; ')}`)
    t.same(report.complaints, [], `npm run simulate -- --seed "${seed}" --minutes ${minutes}`)
    if (report.complaints.length > 0) t.comment(report.output)
    t.ok(report.records > 0, `${report.records} records were made`)
    t.ok(report.answers > 100, `${report.answers} answers were checked`)
    for (const [fault, times] of report.faults) add(faults, fault, times)
  })
}

// A short one may meet none on a busy machine: what a node is asked, and when, is not the seed's.
void t.test('nodes failed meanwhile', (t) => {
  t.ok(faults.size > 0, describeTally(faults))
  t.end()
})

void t.test('a soak of half a minute', { timeout: 580_000 }, async (t) => {
  const queue = hasRedisServer() ? 'redis' : 'postgres'
  const report = await soak({
    ...{ seed: 'npm test', minutes: 0.5, queue, isBuilt: false },
    onLine: (line) => t.comment(line),
  })
  t.same(report.complaints, [])
  t.ok(report.records > 100, `${report.records} records were made`)
  t.ok((report.happened.get('answers 200') ?? 0) > 20, 'pages and loans were answered')
  const last = report.samples.at(-1)
  t.ok((last?.held['first indexer: resident MiB'] ?? 0) > 50, 'memory was looked at')
  t.ok((last?.tables['ledger.event_log']?.tableBytes ?? 0) > 8192, 'tables were looked at')
  t.ok((last?.held['database sessions'] ?? 0) > 2, 'sessions were looked at')
  t.comment(soakAccount(report.samples))
})
