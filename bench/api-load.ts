import { fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { memoryOf } from '../test/helpers/process-memory.ts'
import { KeepAliveClient } from '../test/helpers/raw-http.ts'
import { seedLoan, seedRecords } from '../test/helpers/seed-projection.ts'
import type { Attack, RateResult } from './api-attack.ts'
import { percentile } from './measure.ts'
import { buildPrograms, withApi, type Program } from './programs.ts'
import { printFigures } from './runs.ts'
import { withServices, type Databases } from './services.ts'

export interface LoadOptions {
  records: number
  seconds: number
  /** Runs only the cases whose name contains this text. */
  only: string
  json: boolean
}

interface Case {
  name: string
  attacks: (port: number, records: number) => Attack[]
}

const ATTACKER = '127.0.0.2'
const PAGE = '/api/activity/history/1'

const pipeline = (sockets: number, path: string, reads: boolean, forever: boolean): Case['attacks'] => {
  return (port) => [{ kind: 'pipeline', port, sockets, path, reads, forever, from: ATTACKER }]
}
const hold = (sockets: number, text: string, drip = ''): Case['attacks'] => {
  return (port) => [{ kind: 'hold', port, sockets, text, drip, from: ATTACKER }]
}

const CASES: Case[] = [
  { name: 'nothing', attacks: () => [] },
  { name: '1 socket pipelines ?limit=200', attacks: pipeline(1, '/api/activity?limit=200', true, true) },
  { name: '50 sockets pipeline once', attacks: pipeline(50, PAGE, true, false) },
  { name: '100 sockets pipeline once', attacks: pipeline(100, PAGE, true, false) },
  { name: '100 sockets pipeline once, not reading', attacks: pipeline(100, PAGE, false, false) },
  { name: '200 sockets pipeline on', attacks: pipeline(200, PAGE, true, true) },
  { name: '200 sockets pipeline on, not reading', attacks: pipeline(200, PAGE, false, true) },
  {
    name: '200 sockets pipeline ?limit=200, not reading',
    attacks: pipeline(200, '/api/activity?limit=200', false, true),
  },
  { name: '2,000 idle connections', attacks: hold(2000, `GET ${PAGE} HTTP/1.1\r\nHost: a\r\n\r\n`) },
  { name: '2,000 slow headers', attacks: hold(2000, `GET ${PAGE} HTTP/1.1\r\nHost: a\r\nX: `, 'x') },
  { name: '200 URLs of 60 kB', attacks: hold(200, `GET /${'x'.repeat(60_000)} HTTP/1.1\r\n`) },
  {
    name: '200 floods of headers',
    attacks: hold(200, `GET / HTTP/1.1\r\n${'X: 1\r\n'.repeat(10_000)}`, 'X: 1\r\n'.repeat(1000)),
  },
]

interface CaseResult {
  name: string
  requests: number
  refused: number
  broken: number
  p50Ms: number
  p99Ms: number
  healthMaxMs: number
  api: string
}

/** Measures the effect of other clients' load on a normal client, and the API's memory meanwhile. */
export async function benchLoad(options: LoadOptions): Promise<void> {
  buildPrograms()
  await withServices('postgres', ({ postgres, withDatabases }) =>
    withDatabases(async (databases) => {
      await seedRecords(databases.db, options.records)
      await seedLoan(databases.db, { loanType: 'ERC20FIL', loanId: '5000', id: 1, part: { state: '0' } })
      await sql`vacuum analyze`.execute(databases.db)
      const results: CaseResult[] = []
      for (const one of CASES.filter(({ name }) => name.includes(options.only))) {
        const result = await withApi(databases, (url, api) => runCase(one, url, api, options), UNLIMITED)
        console.error(JSON.stringify(result))
        results.push(result)
      }
      const overload = 'overload'.includes(options.only) ? await runOverload(databases, options) : null
      if (overload !== null) console.error(JSON.stringify(overload))
      const figures = { ...options, results, overload }
      printFigures(options.json, { postgres: postgres.settings }, figures, markdownOf(results, overload))
    }),
  )
}

/** The limit per client would hide the other limits. */
const UNLIMITED = { API_RATE_LIMIT: 'off' }

async function runCase(
  { name, attacks }: Case,
  url: string,
  api: Program,
  { records, seconds }: LoadOptions,
): Promise<CaseResult> {
  const port = Number(new URL(url).port)
  const normal = [1, 2, 3, 4].map(() => new KeepAliveClient(port))
  const health = new KeepAliveClient(port)
  await Promise.all([...normal, health].map((client) => client.get(PAGE)))
  const running = await Promise.all(attacks(port, records).map(startAttack))
  const tally = { times: [] as number[], refused: 0, broken: 0, health: [] as number[] }
  const untilMs = performance.now() + seconds * 1000
  await Promise.all([
    ...normal.map((client) =>
      askUntil(
        client,
        untilMs,
        5,
        () => `/api/activity/history/${1 + Math.floor(Math.random() * (records / 25))}`,
        tally,
      ),
    ),
    askUntil(health, untilMs, 50, () => '/healthz', { ...tally, times: tally.health }),
  ])
  const memory = memoryOf(api.pid)
  for (const { stop } of running) await stop()
  for (const client of [...normal, health]) client.close()
  return {
    name,
    requests: tally.times.length,
    refused: tally.refused,
    broken: tally.broken,
    p50Ms: percentile(tally.times, 50),
    p99Ms: percentile(tally.times, 99),
    healthMaxMs: Math.max(...tally.health),
    api: isAlive(api) ? `peak ${memory.peakMiB} MiB` : 'dead',
  }
}

function isAlive(api: Program): boolean {
  try {
    api.requireAlive()
    return true
  } catch {
    return false
  }
}

interface Tally {
  times: number[]
  refused: number
  broken: number
}

async function askUntil(
  client: KeepAliveClient,
  untilMs: number,
  everyMs: number,
  path: () => string,
  tally: Tally,
): Promise<void> {
  while (performance.now() < untilMs) {
    const askedMs = performance.now()
    try {
      // No client waits longer than this.
      const answer = await Promise.race([client.get(path()), delay(20_000, null, { ref: false })])
      if (answer === null) client.close()
      tally.times.push(performance.now() - askedMs)
      if (answer !== null && answer.status !== 200) tally.refused += 1
    } catch {
      tally.broken += 1
    }
    await delay(everyMs)
  }
}

interface Overload {
  capacityPerS: number
  offeredPerS: number
  result: RateResult
  healthMaxMs: number
  afterwardsP99Ms: number
  peakMiB: number
}

/**
 * Measures capacity with one request per connection at once, then three times that load and the two seconds after it.
 */
function runOverload(databases: Databases, { records, seconds }: LoadOptions): Promise<Overload> {
  return withApi(
    databases,
    async (url, api) => {
      const port = Number(new URL(url).port)
      const rate = (sockets: number, perSecond: number): ReturnType<typeof startRate> =>
        startRate({ port, sockets, perSecond, records })
      const warm = await rate(32, 1e6)
      await delay(3000)
      await warm.stop()
      const full = await rate(32, 1e6)
      await delay(5000)
      const capacityPerS = Math.round(((await full.stop())?.accepted ?? NaN) / 5)
      const running = await rate(2000, 3 * capacityPerS)
      const health = new KeepAliveClient(port)
      const tally = { times: [] as number[], refused: 0, broken: 0 }
      await askUntil(health, performance.now() + seconds * 1000, 50, () => '/healthz', tally)
      const result = await running.stop()
      const after = { times: [] as number[], refused: 0, broken: 0 }
      await askUntil(health, performance.now() + 2000, 5, () => PAGE, after)
      health.close()
      if (result === null) throw new Error('no result')
      return {
        capacityPerS,
        offeredPerS: Math.round(result.asked / seconds),
        result,
        healthMaxMs: Math.max(...tally.times),
        afterwardsP99Ms: percentile(after.times, 99),
        peakMiB: memoryOf(api.pid).peakMiB,
      }
    },
    UNLIMITED,
  )
}

/** Asks for any page at this rate until it is stopped, as one client. */
export function startRate(
  plan: Omit<Extract<Attack, { kind: 'rate' }>, 'kind' | 'from'>,
): Promise<{ stop: () => Promise<RateResult | null> }> {
  return startAttack({ ...plan, kind: 'rate', from: ATTACKER })
}

/** Asks an API for any page as fast as it answers, after a warm-up. Returns the answers of a second. */
export async function pagesPerSecond(url: string, records: number, seconds: number): Promise<number> {
  const plan = { port: Number(new URL(url).port), sockets: 32, perSecond: 1e6, records }
  const warmUp = await startRate(plan)
  await delay(3_000)
  await warmUp.stop()
  const rate = await startRate(plan)
  await delay(seconds * 1000)
  const result = await rate.stop()
  return (result?.accepted ?? NaN) / seconds
}

async function startAttack(plan: Attack): Promise<{ stop: () => Promise<RateResult | null> }> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = fork(main, ['attack', JSON.stringify(plan)], {
    execArgv: ['--import', 'tsx', '--no-warnings'],
  })
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`the attack ended with code ${code ?? 'none'}`)))
    })
  await next()
  return {
    stop: async () => {
      child.send('stop')
      return ((await next()) as { result: RateResult | null }).result
    },
  }
}

function markdownOf(results: CaseResult[], overload: Overload | null): string {
  const rows = results.map(
    ({ name, requests, refused, broken, p50Ms, p99Ms, healthMaxMs, api }) =>
      `| ${name} | ${requests} | ${refused} | ${broken} | ${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} | ${healthMaxMs.toFixed(0)} | ${api} |`,
  )
  const table = `| others | requests | not 200 | broken | p50 ms | p99 ms | /healthz at most ms | API |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}`
  if (overload === null) return table
  const { capacityPerS, offeredPerS, result, healthMaxMs, afterwardsP99Ms, peakMiB } = overload
  return `${table}

Capacity ${capacityPerS} requests/s, offered ${offeredPerS}: accepted ${result.accepted} with p99 ${result.acceptedP99Ms.toFixed(0)} ms, refused ${result.refused}, broken ${result.broken}; /healthz at most ${healthMaxMs.toFixed(0)} ms; in the two seconds afterwards p99 ${afterwardsP99Ms.toFixed(0)} ms; peak ${peakMiB} MiB`
}
