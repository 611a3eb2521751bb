import { fork, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fastify } from 'fastify'
import { sql } from 'kysely'
import * as z from 'zod'
import { buildApp } from '../api/app.ts'
import { openReadDatabase } from '../api/queries/read-database.ts'
import { isoTime } from '../api/queries/record-json.ts'
import type { Db } from '../shared/db/connect.ts'
import { createLogger } from '../shared/log.ts'
import { memoryOf, type ProcessMemory } from '../test/helpers/process-memory.ts'
import { SEEDED_ID_STEP, seedLoan, seedRecords } from '../test/helpers/seed-projection.ts'
import type { BenchPostgres } from './bench-postgres.ts'
import { spreadOf, type Spread } from './measure.ts'
import { buildPrograms, withApi, type Program } from './programs.ts'
import { printFigures } from './runs.ts'
import { withServices, type Databases } from './services.ts'

export interface ReadsOptions {
  records: number
  /** Seconds of each measurement. */
  seconds: number
  /** Seconds of warm-up with any page before all measurements. */
  warmUpSeconds: number
  runs: number
  json: boolean
}

const PAGE_SIZE = 25
const CONNECTIONS = 32
/** Warm-up before each measurement. */
const TURN_WARM_UP_S = 2
/** Size of a history that fits into every cache. */
const FEW_RECORDS = 10_000
const LIMIT = 'Fastify + one prepared query'
const FIRST_PAGES = 'a page of the first 1,000, asked'
const LAST_PAGES = 'a page of the last 1,000, asked'
const ANY_OF_ALL = 'any page, asked'
const ANY_OF_FEW = `any page of ${FEW_RECORDS} records, asked`

const addressesSchema = z.object({ limits: z.string(), kept: z.string(), asked: z.string() })
type Addresses = z.infer<typeof addressesSchema>

interface Target {
  name: string
  url: string
  /** Name of the target to whose figures these are given as ratios. */
  limit?: string
  /** Lua script of wrk that makes each request different. */
  script?: string
}

/** One measurement: requests per second, and their 99th percentile. */
interface Sample {
  rate: number
  p99Ms: number
}

/** Figures of all runs of one target. */
interface Answer {
  answer: string
  requestsPerS: Spread
  p99Ms: Spread
  /** Name of the target it is compared with, and the ratio of the two medians; null for a limit itself. */
  limit: string | null
  ofLimit: number | null
}

/**
 * Measures requests per second and 99th percentile of the history and of lookups, kept and not kept. The limits are a
 * constant answer of Fastify and one prepared query of Postgres for 25 rows by key. All run in turns within each run.
 */
export async function benchReads(options: ReadsOptions): Promise<void> {
  buildPrograms()
  await withServices('postgres', ({ postgres, withDatabases }) =>
    withDatabases((all) =>
      withDatabases(async (few) => {
        await fill(all.db, options.records)
        await fill(few.db, FEW_RECORDS)
        const measured = await measureReads(all, few, options)
        tell(options, postgres, measured, await measureMemory(all, options))
      }),
    ),
  )
}

async function fill(db: Db, records: number): Promise<void> {
  await seedRecords(db, records)
  await seedLoan(db, {
    loanType: 'ERC20FIL',
    loanId: '5000',
    id: 1,
    part: { contractLoanId: '5000', state: '0' },
  })
  await sql`vacuum analyze projection.fold_state, projection.activity, projection.record_kinds, projection.activity_counts, projection.loans`.execute(
    db,
  )
}

interface Measured {
  /** Any page over new connections, each of which first touches all of `shared_buffers` (docs/performance.md). */
  atFirst: Sample
  answers: Answer[]
}

async function measureReads(all: Databases, few: Databases, options: ReadsOptions): Promise<Measured> {
  const { records, seconds, runs, warmUpSeconds } = options
  const servers = [await startServers(all.databaseUrl), await startServers(few.databaseUrl)] as const
  try {
    const [{ addresses: ofAll }, { addresses: ofFew }] = servers
    await checkAnswers(ofAll, records)
    await checkAnswers(ofFew, FEW_RECORDS)
    const targets = [...targetsOf(ofAll, records), anyPage(ofFew, FEW_RECORDS, ANY_OF_FEW)]
    const atFirst = await wrk(anyPage(ofAll, records, ANY_OF_ALL), seconds)
    // Each of its statements is one page, so all connections carry them.
    for (const limit of targets.filter(({ name }) => name === LIMIT)) await wrk(limit, warmUpSeconds)
    const warm = await newestConnection(all.db)
    console.error(`warmed up for ${warmUpSeconds} s`)
    const samples = targets.map((): Sample[] => [])
    for (let run = 0; run < runs; run += 1) {
      for (const [index, target] of targets.entries()) {
        await wrk(target, TURN_WARM_UP_S)
        samples[index]?.push(await wrk(target, seconds))
      }
      console.error(`run ${run + 1} of ${runs}`)
    }
    if ((await newestConnection(all.db)) !== warm)
      throw new Error('a connection was opened that is not warm: no figure')
    return { atFirst, answers: answersOf(targets, samples) }
  } finally {
    for (const { child } of servers) child.kill()
  }
}

/** Start time of the API's newest connection, as text. */
async function newestConnection(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ opened: string }>`
    select max(backend_start)::text as opened from pg_stat_activity
    where datname = current_database() and application_name = 'loan-activity api'`.execute(db)
  return rows[0]?.opened
}

/** Measures the peak memory of the API as production runs it, for random pages and for kept answers. */
function measureMemory(all: Databases, { records, seconds, runs }: ReadsOptions): Promise<ProcessMemory> {
  const measure = async (url: string, api: Program): Promise<ProcessMemory> => {
    const pages = anyPage({ asked: url }, records, 'any page')
    for (let run = 0; run < runs; run += 1) {
      await wrk(pages, seconds)
      await wrk({ name: 'first page', url: `${url}/api/activity/history/1` }, seconds)
    }
    return memoryOf(api.pid)
  }
  // The limit per client would refuse most requests.
  return withApi(all, measure, { API_RATE_LIMIT: 'off' })
}

function targetsOf({ limits, kept, asked }: Addresses, records: number): Target[] {
  const last = Math.ceil(records / PAGE_SIZE)
  // Several addresses, because simultaneous requests for the same answer share it.
  const some = Math.min(1000, last)
  return [
    { name: 'Fastify, constant answer', url: `${limits}/constant` },
    {
      name: LIMIT,
      url: `${limits}/query/1`,
      script: random('/query/', records),
    },
    ...[
      { name: FIRST_PAGES, most: some, least: 1 },
      { name: ANY_OF_ALL, most: last, least: 1 },
      { name: LAST_PAGES, most: last, least: last - some + 1 },
    ].map(({ name, most, least }) => ({
      ...{ name, url: `${asked}/api/activity/history/1`, limit: LIMIT },
      script: random('/api/activity/history/', most, least),
    })),
    { name: 'first page, kept', url: `${kept}/api/activity/history/1`, limit: 'Fastify, constant answer' },
    { name: 'a loan, kept', url: `${kept}/api/loan/ERC20/5000`, limit: 'Fastify, constant answer' },
  ]
}

/** Throws unless the answers are true; a false one gets no figure. */
async function checkAnswers({ limits, kept, asked }: Addresses, records: number): Promise<void> {
  const answerSchema = z.object({ payload: z.array(z.object({ id: z.number() })) })
  const last = Math.ceil(records / PAGE_SIZE)
  for (const page of [1, Math.ceil(last / 2), last]) {
    const newest = records - (page - 1) * PAGE_SIZE
    const wanted = Array.from(
      { length: Math.min(PAGE_SIZE, newest) },
      (_, index) => (newest - index) * SEEDED_ID_STEP,
    )
    for (const url of [kept, kept, asked].map((base) => `${base}/api/activity/history/${page}`)) {
      const { payload } = answerSchema.parse(await (await fetch(url)).json())
      if (payload.map(({ id }) => id).join() !== wanted.join())
        throw new Error(`${url} is not the truth: no figure`)
    }
  }
  const { payload } = answerSchema.parse(await (await fetch(`${limits}/query/${records}`)).json())
  if (payload.length !== PAGE_SIZE) throw new Error('the limit answers less than a page: no figure')
}

function anyPage({ asked }: Pick<Addresses, 'asked'>, records: number, name: string): Target {
  const script = random('/api/activity/history/', Math.ceil(records / PAGE_SIZE))
  return { name, url: `${asked}/api/activity/history/1`, script, limit: LIMIT }
}

/** Formats wrk's script with another random number in each request. */
function random(path: string, most: number, least = 1): string {
  return `request = function() return wrk.format("GET", "${path}" .. math.random(${least}, ${most})) end`
}

async function wrk(target: Target, seconds: number): Promise<Sample> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-'))
  try {
    const file = join(folder, 'request.lua')
    await writeFile(file, target.script ?? '')
    return await runWrk(target.url, file, seconds)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function runWrk(url: string, script: string, seconds: number): Promise<Sample> {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency', '-s', script]
  const child = spawn('wrk', [...args, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await new Promise((resolve, reject) => {
    child.once('error', () =>
      reject(
        new Error('wrk is not on PATH: `apt-get install wrk` (it makes the requests of this benchmark)'),
      ),
    )
    child.once('close', resolve)
  })
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  const [, p99, unit = ''] = /99%\s+([\d.]+)(us|ms|s)\b/.exec(output) ?? []
  if (!(rate > 0) || /Non-2xx|Socket errors/.test(output)) throw new Error(`${url}: no figure\n${output}`)
  return { rate, p99Ms: Number(p99) * ({ us: 0.001, ms: 1, s: 1000 }[unit] ?? NaN) }
}

function answersOf(targets: readonly Target[], samples: readonly Sample[][]): Answer[] {
  const rates = samples.map((ofOne) => spreadOf(ofOne.map(({ rate }) => rate)))
  return targets.map(({ name, limit }, index) => {
    const rate = rates[index] ?? spreadOf([])
    const ofLimit = rates[targets.findIndex((other) => other.name === limit)]
    return {
      answer: name,
      requestsPerS: rate,
      p99Ms: spreadOf(samples[index]?.map(({ p99Ms }) => p99Ms) ?? []),
      limit: limit ?? null,
      ofLimit: ofLimit === undefined ? null : rate.median / ofLimit.median,
    }
  })
}

function tell(
  { records, seconds, runs, json, warmUpSeconds }: ReadsOptions,
  postgres: BenchPostgres,
  { atFirst, answers }: Measured,
  api: ProcessMemory,
): void {
  const rateOf = (name: string): number =>
    answers.find(({ answer }) => answer === name)?.requestsPerS.median ?? NaN
  const figures = {
    ...{ records, fewRecords: FEW_RECORDS, connections: CONNECTIONS, runs, secondsEach: seconds },
    ...{ warmUpSeconds, atFirst, answers },
    /** Ratios of the medians. */
    lastToFirstPages: rateOf(LAST_PAGES) / rateOf(FIRST_PAGES),
    allToFewRecords: rateOf(ANY_OF_ALL) / rateOf(ANY_OF_FEW),
    api,
  }
  const whole = ({ median, least, most }: Spread): string =>
    `${median.toFixed(0)} (${least.toFixed(0)}-${most.toFixed(0)})`
  const markdown = `${records} records, ${CONNECTIONS} connections, ${runs} runs of ${seconds} s each, in turns, by connections that were asked for any page for ${warmUpSeconds} s

| answer | requests/s: median (least-most) | p99 ms: median | of its limit |
|---|---|---|---|
${answers.map(({ answer, requestsPerS, p99Ms, ofLimit }) => `| ${answer} | ${whole(requestsPerS)} | ${p99Ms.median.toFixed(1)} | ${ofLimit?.toFixed(2) ?? ''} |`).join('\n')}

last pages against first pages: ${figures.lastToFirstPages.toFixed(2)}
${records} against ${FEW_RECORDS} records: ${figures.allToFewRecords.toFixed(2)}

any page in the first ${seconds} s, by new connections: ${atFirst.rate.toFixed(0)} requests/s, p99 ${atFirst.p99Ms.toFixed(1)} ms

the API meanwhile, as in production: peak ${api.peakMiB} MiB, at the end ${api.residentMiB} MiB`
  printFigures(json, { postgres: postgres.settings }, figures, markdown)
}

async function startServers(databaseUrl: string): Promise<{ addresses: Addresses; child: ChildProcess }> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = fork(main, ['serve-reads', databaseUrl], { execArgv: ['--import', 'tsx', '--no-warnings'] })
  const addresses = await new Promise<Addresses>((resolve, reject) => {
    child.once('message', (message) => resolve(addressesSchema.parse(message)))
    child.once('exit', (code) => reject(new Error(`the servers ended with code ${code ?? 'none'}`)))
  })
  return { addresses, child }
}

/** Serves all limits from one process, since only one is measured at a time. */
export async function serveReads(databaseUrl: string): Promise<void> {
  const database = openReadDatabase(databaseUrl, { onError: () => undefined })
  const log = createLogger('bench', 'silent')
  const kept = await buildApp({ database, log, version: 'bench' })
  const asked = await buildApp({ database, log, version: 'bench', keptBytes: 0 })
  const page = (await asked.inject('/api/activity/history/1')).body
  const limits = fastify()
  const json = 'application/json; charset=utf-8'
  limits.get('/constant', (_request, reply) => reply.type(json).send(page))
  // The obvious way: Postgres makes JSON of rows.
  const statement = {
    name: 'bench-page',
    text: `select '{"status":"OK","payload":[' || (
      select coalesce(string_agg(row_to_json(record)::text, ',' order by record.id desc), '') from (
        select found.id, tx_hash as "txHash", event, loan_id as "loanId", blockchain, network_id as "networkId",
          contract_address as "contractAddress", loan_type as "loanType",
          ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
        from (select * from projection.activity where id <= $1 order by id desc limit ${PAGE_SIZE}) as found
        join projection.record_kinds as kind on kind.id = found.kind
      ) as record
    ) || ']}' as answer`,
  }
  limits.get<{ Params: { id: string } }>('/query/:id', async (request, reply) => {
    const values = [Number(request.params.id) * SEEDED_ID_STEP]
    const [row] = await database.rows<{ answer: string }>(statement, values)
    return reply.type(json).send(row?.answer)
  })
  const listen = { host: '127.0.0.1', port: 0 }
  process.on('disconnect', () => process.exit())
  process.send?.({
    limits: await limits.listen(listen),
    kept: await kept.listen(listen),
    asked: await asked.listen(listen),
  })
}
