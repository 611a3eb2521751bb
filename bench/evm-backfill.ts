import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Db } from '../shared/db/connect.ts'
import { startServices } from '../test/helpers/services.ts'
import { freePort } from '../test/helpers/start-services.ts'
import { cpuSeconds, startBenchPostgres, type BenchPostgres } from './bench-postgres.ts'
import { LIMITS, measureLimit, type Limit } from './evm-limits.ts'
import { machineFacts, mebibytes, spreadOf, type Spread } from './measure.ts'
import { BLOCKCHAIN } from './synthetic-evm/expected-loans.ts'
import { serveSyntheticChain } from './synthetic-evm/serve-chain.ts'
import { CHAIN_ID, SHAPES, type ChainShape, type ShapeName } from './synthetic-evm/synthetic-chain.ts'
import { compareWithTruth, makeTruth, shareChecked, type Truth } from './synthetic-evm/truth.ts'

export interface BackfillOptions {
  shape: ShapeName
  queue: 'redis' | 'postgres'
  /** Measured runs, after one that is not. */
  runs: number
  /** As many events as this, at the shape's density. */
  events: number | undefined
  json: boolean
  /** Where the indexer leaves a profile of its processor time. */
  profile: string | undefined
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** As in the npm script. */
const INDEXER_FLAGS = ['--enable-source-maps', '--max-old-space-size=192', '--max-semi-space-size=8']
const POLL_MS = 20

interface Run {
  /** From the first look at the chain until all of it is written. */
  seconds: number
  /** From the start of the program until then. */
  startupSeconds: number
  /** Processor seconds; the indexer's without its start. */
  indexerCpu: number
  postgresCpu: number
  nodeCpu: number
  peakMiB: number
  /** Of the blocks, the share whose answers were checked against blooms. */
  checked: number
}

interface Setup {
  options: BackfillOptions
  shape: ChainShape
  truth: Truth
  postgres: BenchPostgres
  redisUrl: string | null
  node: { url: string; child: ChildProcess }
}

/** Events per second of the whole indexer, as production runs it, and of its limits in the same minutes. */
export async function benchBackfill(options: BackfillOptions): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', '.config/tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' })
  const shape = scaled(SHAPES[options.shape], options.events)
  const services = options.queue === 'redis' ? await startServices(['redis']) : null
  const postgres = await startBenchPostgres()
  const node = await startNode(shape)
  try {
    const redisUrl = services?.redisUrl ?? null
    if (options.queue === 'redis' && redisUrl === null) throw new Error('no redis-server is on the path')
    const setup = { options, shape, truth: makeTruth(shape), postgres, redisUrl, node }
    const limits: Record<Limit, number[]> = { fetch: [], decode: [], write: [] }
    const runs: Run[] = []
    for (let number = 0; number <= options.runs; number += 1) {
      const run = await measureRun(setup)
      console.error(`${number === 0 ? 'warm-up' : `run ${number}`}: ${JSON.stringify(run)}`)
      for (const limit of Object.keys(limits) as Limit[]) {
        const seconds = await withDatabase(postgres, ({ db }) =>
          measureLimit(limit, node.url, setup.truth.chain, db),
        )
        if (number > 0) limits[limit].push(seconds)
      }
      if (number > 0) runs.push(run)
    }
    tell(setup, runs, limits)
  } finally {
    node.child.kill()
    await postgres.stop()
    await services?.stop()
  }
}

/** The program that {@link startNode} runs: a node in a process of its own, so that it is not what is measured. */
export async function runSyntheticNode(shape: ChainShape): Promise<void> {
  const { url } = await serveSyntheticChain(shape)
  process.on('disconnect', () => process.exit())
  process.send?.(url)
}

function scaled(shape: ChainShape, events: number | undefined): ChainShape {
  if (events === undefined) return shape
  return { ...shape, events, blocks: Math.ceil((shape.blocks * events) / shape.events) }
}

async function startNode(shape: ChainShape): Promise<Setup['node']> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = fork(main, ['synthetic-evm', JSON.stringify(shape)], {
    execArgv: ['--import', 'tsx', '--no-warnings', '--max-old-space-size=4096'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(typeof message === 'string' ? message : ''))
    child.once('exit', (code) => reject(new Error(`the node ended with code ${code ?? 'none'}`)))
  })
  return { url, child }
}

async function withDatabase<T>(
  postgres: BenchPostgres,
  work: (database: { url: string; db: Db }) => Promise<T>,
): Promise<T> {
  const database = await postgres.newDatabase()
  try {
    return await work(database)
  } finally {
    await database.drop()
  }
}

function measureRun(setup: Setup): Promise<Run> {
  return withDatabase(setup.postgres, async ({ url, db }) => {
    const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-'))
    const nodePid = setup.node.child.pid ?? 0
    const before = { postgres: await setup.postgres.cpuSeconds(), node: await cpuSeconds(nodePid) }
    const startedMs = performance.now()
    const child = await startIndexer(setup, url, folder)
    try {
      const { startupCpu, ...seconds } = await untilWritten(db, child, startedMs, setup)
      const { peak } = await memoryOf(child.pid ?? 0)
      const run = {
        ...seconds,
        indexerCpu: (await cpuSeconds(child.pid ?? 0)) - startupCpu,
        postgresCpu: (await setup.postgres.cpuSeconds()) - before.postgres,
        nodeCpu: (await cpuSeconds(nodePid)) - before.node,
        peakMiB: mebibytes(peak),
        checked: await shareChecked(db),
      }
      await compareWithTruth(db, setup.truth)
      return run
    } finally {
      const ended = child.exitCode === null ? once(child, 'exit') : null
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    }
  })
}

async function startIndexer(setup: Setup, databaseUrl: string, folder: string): Promise<ChildProcess> {
  const { contracts } = setup.truth.chain.parties
  const networksFile = join(folder, 'networks.json')
  const deployed = (address: string): object => ({ address, startBlock: 1 })
  const network = {
    blockchain: BLOCKCHAIN,
    networkId: String(CHAIN_ID),
    rpcUrls: [setup.node.url],
    erc20Loans: deployed(contracts.erc20Loans),
    erc20CollateralLock: deployed(contracts.erc20CollateralLock),
  }
  await writeFile(networksFile, JSON.stringify({ evm: [network] }))
  const { profile } = setup.options
  return fork(join(ROOT, 'dist/indexer/main.js'), {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      REDIS_URL: setup.redisUrl ?? '',
      NETWORKS_FILE: networksFile,
      INDEXER_PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
    },
    execArgv: [
      ...INDEXER_FLAGS,
      ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]),
    ],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

async function untilWritten(
  db: Db,
  child: ChildProcess,
  startedMs: number,
  { shape }: Setup,
): Promise<Pick<Run, 'seconds' | 'startupSeconds'> & { startupCpu: number }> {
  let followingMs: number | null = null
  let startupCpu = 0
  for (;;) {
    await delay(POLL_MS)
    if (child.exitCode !== null) throw new Error(`the indexer ended with code ${child.exitCode}`)
    const position = await db
      .selectFrom('ledger.chain_position')
      .select(['number'])
      .where('network', '=', `evm:${CHAIN_ID}`)
      .executeTakeFirst()
    if (position === undefined) continue
    if (followingMs === null) {
      followingMs = performance.now()
      startupCpu = await cpuSeconds(child.pid ?? 0)
    }
    if (position.number !== shape.blocks) continue
    const seconds = (performance.now() - followingMs) / 1000
    return { seconds, startupSeconds: (followingMs - startedMs) / 1000, startupCpu }
  }
}

/** Bytes, from the operating system; zero where it does not tell. */
async function memoryOf(pid: number): Promise<{ peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return { peak: Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024 }
}

function tell({ options, shape, postgres }: Setup, runs: Run[], limits: Record<Limit, number[]>): void {
  const rate = (seconds: number[]): Spread => spreadOf(seconds.map((one) => shape.events / one))
  const backfill = rate(runs.map(({ seconds }) => seconds))
  const lines = Object.entries(LIMITS).map(([limit, what]) => {
    const spread = rate(limits[limit as Limit])
    return { what, ...spread, ratio: backfill.median / spread.median }
  })
  const figures = {
    machine: machineFacts(),
    postgres: postgres.settings,
    shape: { name: options.shape, ...shape },
    queue: options.queue,
    backfill,
    limits: lines,
    seconds: spreadOf(runs.map(({ seconds }) => seconds)),
    startupSeconds: spreadOf(runs.map(({ startupSeconds }) => startupSeconds)),
    cpuSeconds: {
      indexer: spreadOf(runs.map(({ indexerCpu }) => indexerCpu)),
      postgres: spreadOf(runs.map(({ postgresCpu }) => postgresCpu)),
      node: spreadOf(runs.map(({ nodeCpu }) => nodeCpu)),
    },
    peakMiB: spreadOf(runs.map(({ peakMiB }) => peakMiB)),
    checked: spreadOf(runs.map(({ checked }) => checked)),
  }
  if (options.json) {
    console.log(JSON.stringify(figures))
    return
  }
  const whole = ({ median, least, most }: Spread): string =>
    `${median.toFixed(0)} | ${least.toFixed(0)} – ${most.toFixed(0)}`
  const { indexer, postgres: database, node } = figures.cpuSeconds
  console.log(`${figures.machine}; Postgres ${JSON.stringify(postgres.settings)}; queue on ${options.queue}

| ${options.shape}: ${shape.events} events in ${shape.blocks} blocks | events/s, median of ${runs.length} | spread | backfill / this |
|---|---|---|---|
| backfill, everything on (as the truth, entry by entry) | ${whole(backfill)} | 1 |
${lines.map(({ what, ratio, ...spread }) => `| ${what} | ${whole(spread)} | ${ratio.toFixed(3)} |`).join('\n')}

| | median |
|---|---|
| seconds, and to start | ${figures.seconds.median.toFixed(1)}, ${figures.startupSeconds.median.toFixed(1)} |
| processor seconds: indexer, Postgres, node | ${indexer.median.toFixed(1)}, ${database.median.toFixed(1)}, ${node.median.toFixed(1)} |
| peak memory of the indexer, MiB | ${figures.peakMiB.median} |
| blocks checked against their blooms, least | ${(figures.checked.least * 100).toFixed(1)} % |`)
}
