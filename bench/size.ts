import { sql } from 'kysely'
import { buildApp } from '../api/app.ts'
import { openReadDatabase } from '../api/queries/read-database.ts'
import { raiseEpoch } from '../indexer/event-log/chain-position.ts'
import { getLastPosition } from '../indexer/event-log/read-log.ts'
import { ingestStep } from '../indexer/ingest/ingest-step.ts'
import type { Db } from '../shared/db/connect.ts'
import type { BlockHeader, ChainStep } from '../shared/events/chain-step.ts'
import { createLogger } from '../shared/log.ts'
import { hash, seededRandom } from '../test/helpers/random-chain.ts'
import { startBenchPostgres, tellStatements, type BenchPostgres } from './bench-postgres.ts'
import { mebibytes, percentile, spreadOf, spreadText, type Spread } from './measure.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { accountOf, fillIndex, LOANS_OF_ACCOUNT, timeOf, transactionOf } from './size-fill.ts'
import { CHAIN_ID, SyntheticChain } from './synthetic-evm/synthetic-chain.ts'
import { compareTailWithTruth, makeReorgTruth, type ReorgTruth } from './synthetic-evm/truth.ts'

export interface SizeOptions {
  records: number
  /** False: only the read model is filled. */
  log: boolean
  /** Events of each loan's id. */
  loanEvents: number
  /** Measured runs on an empty and on a filled index, each after one warm-up. */
  runs: number
  /** Clients that ask at once. */
  clients: number
  json: boolean
  /** Reports how much database time each of the writer's statements takes. */
  statements: boolean
}

/** Gives 1,000 events in any 64 blocks. */
const SHAPE = { events: 10_312, blocks: 660, strangerLogs: 0 }
const HEAD = SHAPE.blocks - 1
const FORK_AFTER = HEAD - 64
const MAIN = new SyntheticChain(SHAPE)
const BLOCKS_PER_STEP = 128
const REQUESTS = 2_000
/** The last used chain id: each run writes a network of its own. */
let chainId = CHAIN_ID

/** p50 and p99, ms. */
interface Latency {
  p50: number
  p99: number
}

interface Run {
  /** Records per second, written as steps of about 2,000 events. */
  batches: number
  reorgMs: number
  /** Latency of pages and lookups. */
  reads: Record<string, Latency>
}

/** Existing content: records, and ids of loans. */
interface Filled extends Pick<SizeOptions, 'log' | 'loanEvents' | 'clients'> {
  records: number
  loans: number
}

/**
 * Measures the size of an index with this many records, and the cost of reads and writes on it, against an empty one.
 */
export async function benchSize(options: SizeOptions): Promise<void> {
  const { records, loanEvents, clients, runs } = options
  const postgres = await startBenchPostgres(options.statements)
  try {
    const truth = makeReorgTruth(SHAPE, { forkAfter: FORK_AFTER, head: HEAD })
    const nothing = { records: 0, loans: 0, log: false, loanEvents, clients }
    const onNothing = await runsAfterWarmUp(runs, () =>
      onNew(postgres, (at) => measure(at, truth, nothing, postgres)),
    )
    await onNew(postgres, async (at) => {
      await fill(at.db, options)
      const tables = await sizesOf(at.db)
      const filled = {
        records,
        loans: Math.floor(records / loanEvents),
        log: options.log,
        loanEvents,
        clients,
      }
      const onAll = await runsAfterWarmUp(runs, () => measure(at, truth, filled, postgres))
      tell(options, postgres, { tables, onNothing, onAll, afterwards: await vacuumOf(at.db) })
    })
  } finally {
    await postgres.stop()
  }
}

async function fill(db: Db, { records, log, loanEvents }: SizeOptions): Promise<void> {
  const startedMs = performance.now()
  const seconds = (): string => ((performance.now() - startedMs) / 1000).toFixed(0)
  await fillIndex(db, {
    records,
    withLog: log,
    eventsPerLoan: loanEvents,
    onProgress: (done) => console.error(`${done} of ${records} filled, ${seconds()} s`),
  })
  console.error(`filled, indexed and vacuumed: ${seconds()} s`)
}

interface Place {
  db: Db
  url: string
}

async function onNew<T>(postgres: BenchPostgres, work: (at: Place) => Promise<T>): Promise<T> {
  const { db, url, drop } = await postgres.newDatabase()
  try {
    return await work({ db, url })
  } finally {
    await drop()
  }
}

/** Writes a chain and its reorg on the existing content, reads, and takes all of it back for the next run. */
async function measure(
  { db, url }: Place,
  truth: ReorgTruth,
  filled: Filled,
  postgres: BenchPostgres,
): Promise<Run> {
  const identity = { network: `evm:${(chainId += 1)}`, blockchain: 'BENCH' }
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  const ingest = async (step: ChainStep): Promise<number> => {
    const startedMs = performance.now()
    const outcome = await ingestStep(db, identity, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
    return performance.now() - startedMs
  }
  const position = await getLastPosition(db)
  let writtenMs = 0
  await postgres.takeStatements()
  for (const step of stepsOf(truth)) writtenMs += await ingest(step)
  tellStatements(await postgres.takeStatements())
  const reads = filled.records === 0 ? {} : await measureReads(url, filled)
  await postgres.takeStatements()
  const reorgMs = await ingest(reorgOf(truth))
  tellStatements(await postgres.takeStatements())
  await compareTailWithTruth(db, truth, { position, records: filled.records })
  await ingest(nothingOf(truth))
  return { batches: (truth.before.length / writtenMs) * 1000, reorgMs, reads }
}

/** Yields the main branch, up to `HEAD`. */
function* stepsOf({ before }: ReorgTruth): Generator<ChainStep> {
  for (let from = 0; from <= HEAD; from += BLOCKS_PER_STEP) {
    const headers = headersOf(MAIN, from, Math.min(HEAD, from + BLOCKS_PER_STEP - 1))
    const to = lastOf(headers)
    const after = from === 0 ? null : { number: from - 1, hash: MAIN.hashOf(from - 1) }
    const events = before.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to.number)
    yield { type: 'blocks', from, after, to, headers, events, evidence: [] }
  }
}

/** The reorg to the other branch, which is a block longer. */
function reorgOf({ chain, events }: ReorgTruth): ChainStep {
  const headers = headersOf(chain, FORK_AFTER + 1, SHAPE.blocks)
  return {
    type: 'reorg',
    ancestor: { number: FORK_AFTER, hash: MAIN.hashOf(FORK_AFTER) },
    replaces: { number: HEAD, hash: MAIN.hashOf(HEAD) },
    to: lastOf(headers),
    headers,
    events: events.filter(({ blockNumber }) => blockNumber > FORK_AFTER),
    evidence: [],
  }
}

/** The reorg to the first block and on to an empty one. */
function nothingOf({ chain }: ReorgTruth): ChainStep {
  const [genesis, first] = headersOf(MAIN, 0, 1)
  if (genesis === undefined || first === undefined) throw new Error('the chain has two blocks')
  const to = { ...first, hash: hash('nothing') }
  const replaces = { number: SHAPE.blocks, hash: chain.hashOf(SHAPE.blocks) }
  return { type: 'reorg', ancestor: genesis, replaces, to, headers: [to], events: [], evidence: [] }
}

function headersOf(chain: SyntheticChain, from: number, to: number): BlockHeader[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const number = from + index
    // The last block of both branches is the first parent of the other branch.
    const parentHash = number === 0 ? hash('none') : chain.hashOf(number - 1)
    return { number, hash: chain.hashOf(number), parentHash, timeS: number }
  })
}

function lastOf(headers: readonly BlockHeader[]): BlockHeader {
  const last = headers.at(-1)
  if (last === undefined) throw new Error('a step has blocks')
  return last
}

/** Measures reads over HTTP with nothing kept, each of another page or loan. */
async function measureReads(
  url: string,
  { records, loans, log, loanEvents, clients }: Filled,
): Promise<Run['reads']> {
  const database = openReadDatabase(url, { onError: () => undefined })
  const app = await buildApp({
    database,
    log: createLogger('bench', 'silent'),
    version: 'bench',
    keptBytes: 0,
  })
  const random = seededRandom(1)
  const paths = {
    ...pathsOf(random, records, loans),
    ...(log && pathsOfLog(random, { records, loans, loanEvents })),
  }
  try {
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const reads: Run['reads'] = {}
    for (const [name, path] of Object.entries(paths)) {
      await load(() => `${address}${path()}`, REQUESTS / 10, clients)
      const samples = await load(() => `${address}${path()}`, REQUESTS, clients)
      reads[name] = { p50: percentile(samples, 50), p99: percentile(samples, 99) }
      console.error(`${name}: p50 ${reads[name].p50.toFixed(1)} ms, p99 ${reads[name].p99.toFixed(1)} ms`)
    }
    return reads
  } finally {
    await app.close()
    await database.close()
  }
}

type Random = ReturnType<typeof seededRandom>

/** Makes requests of each route that the read model answers. */
function pathsOf(random: Random, records: number, loans: number): Record<string, () => string> {
  const pages = Math.floor(records / 25)
  const near = Math.min(1000, pages)
  const record = (): number => 1 + random.below(records)
  const loan = (): number => 1 + random.below(loans - 1)
  const account = (): string => accountOf(random.below(Math.ceil(loans / LOANS_OF_ACCOUNT)))
  const deep = (): string => `before=${record() * 1_000_000}`
  return {
    'first 1,000 pages': () => `/api/activity/history/${1 + random.below(near)}`,
    'any page': () => `/api/activity/history/${1 + random.below(pages)}`,
    'last 1,000 pages': () => `/api/activity/history/${pages - random.below(near)}`,
    'any loan, ERC20': () => `/api/loan/ERC20/f-${loan()}`,
    'any loan, FIL': () => `/api/loan/FIL/f-${loan()}`,
    'what any loan can do next': () => `/api/loan/ERC20/f-${loan()}/next`,
    'vouchers of any loan': () => `/api/loan/ERC20/f-${loan()}/vouchers`,
    '50 records from anywhere': () => `/api/activity?${deep()}&limit=50`,
    'any transaction': () => `/api/activity?txHash=${transactionOf(record())}`,
    'records of any loan': () => `/api/activity?loanId=f-${loan()}`,
    'records of an account of 20,000 loans, from anywhere': () =>
      `/api/activity?account=${account()}&${deep()}`,
    'one event of a market, from anywhere': () => `/api/activity?event=Withdraw&loanType=FILERC20&${deep()}`,
    'records between two times': () =>
      `/api/activity?to=${timeOf(record()).toISOString()}&from=${timeOf(1).toISOString()}`,
    '100 loans of such an account, from anywhere': () =>
      `/api/loans/account/${account()}?before=${1 + random.below(records)}`,
    '100 closed orders, from anywhere': () => `/api/orders/lend/closed?before=${1 + random.below(records)}`,
    'daily figures of all days': () => '/api/stats/daily',
    'protocol contracts': () => '/api/protocolContracts',
    'loan assets': () => '/api/loanAssets/ALL',
    status: () => '/api/status',
  }
}

/** Makes requests of each route that reads the log too. */
function pathsOfLog(random: Random, filled: Omit<Filled, 'log' | 'clients'>): Record<string, () => string> {
  const { records, loans } = filled
  const record = (): number => 1 + random.below(records)
  return {
    'any record with its provenance': () => `/api/activity/${record() * 1_000_000}`,
    'any loan, explained': () => `/api/loan/ERC20/f-${1 + random.below(loans - 1)}?explain=1`,
    'any loan, as of any record': () => asOfAnyRecord(random, filled),
    '100 loans of an account, as of any record': () =>
      `/api/loans/account/${accountOf(random.below(Math.ceil(loans / LOANS_OF_ACCOUNT)))}?asOf=${record() * 1_000_000}`,
    '100 closed orders, as of any record': () => `/api/orders/lend/closed?asOf=${record() * 1_000_000}`,
    '50 records as of any record': () => `/api/activity?limit=50&asOf=${record() * 1_000_000}`,
  }
}

/** A lookup as of a record that is not older than the loan, or as of that record's time. */
function asOfAnyRecord(
  random: Random,
  { records, loans, loanEvents }: Omit<Filled, 'log' | 'clients'>,
): string {
  const loan = 1 + random.below(loans - 1)
  const first = loan * loanEvents
  const record = first + random.below(records - first)
  const asOf = random.chance(0.5) ? `${record * 1_000_000}` : timeOf(record).toISOString()
  return `/api/loan/ERC20/f-${loan}?asOf=${asOf}`
}

/** Returns the milliseconds of each request. */
async function load(next: () => string, requests: number, clients: number): Promise<number[]> {
  const samples: number[] = []
  let left = requests
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const url = next()
      const startedMs = performance.now()
      const response = await fetch(url)
      const body = await response.text()
      samples.push(performance.now() - startedMs)
      if (response.status !== 200) throw new Error(`${url}: ${response.status} ${body}`)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return samples
}

interface Table {
  name: string
  tableBytes: number
  indexBytes: number
  /** Bytes by index. */
  indexes: Record<string, number>
}

async function sizesOf(db: Db): Promise<Table[]> {
  const { rows } = await sql<Table>`
    select relname as name, pg_table_size(c.oid) as "tableBytes", pg_indexes_size(c.oid) as "indexBytes",
      (select coalesce(json_object_agg(i.indexrelid::regclass, pg_relation_size(i.indexrelid)
        order by pg_relation_size(i.indexrelid) desc), '{}') from pg_index i where i.indrelid = c.oid) as indexes
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind = 'r' and nspname in ('ledger', 'projection') and pg_table_size(c.oid) > 1000000
    order by pg_total_relation_size(c.oid) desc`.execute(db)
  return rows
}

interface Vacuum {
  name: string
  dead: number
  live: number
  vacuums: number
  analyzes: number
}

async function vacuumOf(db: Db): Promise<Vacuum[]> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<Vacuum>`
    select schemaname || '.' || relname as name, n_dead_tup as dead, n_live_tup as live,
      autovacuum_count as vacuums, autoanalyze_count as analyzes
    from pg_stat_user_tables where n_dead_tup > 0 or autovacuum_count > 0 order by n_dead_tup desc`.execute(
    db,
  )
  return rows
}

interface Found {
  tables: readonly Table[]
  onNothing: readonly Run[]
  onAll: readonly Run[]
  afterwards: readonly Vacuum[]
}

function tell(
  { records, log, loanEvents, runs, clients, json }: SizeOptions,
  postgres: BenchPostgres,
  { tables, onNothing, onAll, afterwards }: Found,
): void {
  const written = { onNothing: writesOf(onNothing), onAll: writesOf(onAll) }
  const reads = readsOf(onAll)
  const figures = { records, log, loanEvents, runs, clients, tables, ...written, reads, afterwards }
  const both = (what: keyof Writes, digits: number): string =>
    [written.onNothing, written.onAll].map((writes) => spreadText(writes[what], digits)).join(' | ')
  const markdown = `${sizesText(tables, records)}

| median (least – most) of ${runs} | on nothing | on ${records} records |
|---|---|---|
| written in steps of 2,000 events, records/s | ${both('recordsPerS', 0)} |
| reorg of 64 blocks with 1,000 records, ms | ${both('reorgMs', 0)} |
${reads.map(({ what, p50Ms, p99Ms }) => `| ${what}, ${clients} clients, ms: p50, p99 | | ${spreadText(p50Ms, 1)}, ${spreadText(p99Ms, 1)} |`).join('\n')}

| afterwards | dead rows | live rows | autovacuums | autoanalyzes |
|---|---|---|---|---|
${afterwards.map(({ name, dead, live, vacuums, analyzes }) => `| ${name} | ${dead} | ${live} | ${vacuums} | ${analyzes} |`).join('\n')}`
  printFigures(json, { postgres: postgres.settings }, figures, markdown)
}

interface Writes {
  recordsPerS: Spread
  reorgMs: Spread
}

function writesOf(runs: readonly Run[]): Writes {
  return {
    recordsPerS: spreadOf(runs.map(({ batches }) => batches)),
    reorgMs: spreadOf(runs.map(({ reorgMs }) => reorgMs)),
  }
}

function readsOf(runs: readonly Run[]): { what: string; p50Ms: Spread; p99Ms: Spread }[] {
  return Object.keys(runs[0]?.reads ?? {}).map((what) => {
    const of = (p: keyof Latency): Spread => spreadOf(runs.map(({ reads }) => reads[what]?.[p] ?? NaN))
    return { what, p50Ms: of('p50'), p99Ms: of('p99') }
  })
}

function sizesText(tables: readonly Table[], records: number): string {
  const lines = tables.map(({ name, tableBytes, indexBytes, indexes }) => {
    const per = [tableBytes, indexBytes].map((bytes) => (bytes / records).toFixed(0))
    const each = Object.entries(indexes).map(([index, bytes]) => `${index} ${(bytes / records).toFixed(1)}`)
    return `| ${name} | ${mebibytes(tableBytes)} | ${mebibytes(indexBytes)} | ${per.join(' | ')} | ${each.join(', ')} |`
  })
  return `| of ${records} records | table, MiB | indexes, MiB | bytes per record: table | indexes | each |
|---|---|---|---|---|---|
${lines.join('\n')}`
}
