import type { Db } from '../shared/db/connect.ts'
import { memoryOf } from '../test/helpers/process-memory.ts'
import { cpuSeconds, tellStatements } from './bench-postgres.ts'
import { LIMITS, measureLimit, type Limit } from './evm-limits.ts'
import { machineFacts, spreadOf, type Spread } from './measure.ts'
import { buildPrograms, replaySeconds, untilWritten, withIndexer, type Program } from './programs.ts'
import { withServices, type BenchServices, type QueueKind } from './services.ts'
import { scaledShape, type ChainShape, type ShapeName } from './synthetic-evm/synthetic-chain.ts'
import { namesOf, startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, shareChecked, type Truth } from './synthetic-evm/truth.ts'

export interface BackfillOptions {
  shape: ShapeName
  queue: QueueKind
  /** Measured runs, after one warm-up. */
  runs: number
  /** Number of events, at the shape's density. */
  events: number | undefined
  /** Names for the one node. Two names make the indexer check answers against each other and not against blooms. */
  endpoints: number
  json: boolean
  /** Reports how much database time each statement takes. */
  statements: boolean
  /** File for a profile of the indexer's processor time. */
  profile: string | undefined
}

/**
 * Equals the interval at which Ponder's readiness is polled: each look takes processor time from the measured program.
 */
const LOOK_EVERY_MS = 50

interface Run {
  /** Time from the first look at the chain until all of it is written. */
  seconds: number
  /** Time from the start of the program until that first look. */
  startupSeconds: number
  /** Processor seconds; the indexer's exclude its start. */
  indexerCpu: number
  postgresCpu: number
  nodeCpu: number
  peakMiB: number
  /** Seconds to rebuild the read model from the log of this backfill. */
  replaySeconds: number
  /** Share of blocks whose answers were checked, against blooms or a second endpoint. */
  checked: number
}

interface Setup {
  options: BackfillOptions
  shape: ChainShape
  truth: Truth
  services: BenchServices
  node: NodeProcess
}

/** Measures events per second of the whole indexer, as production runs it, and of its limits in the same minutes. */
export async function benchBackfill(options: BackfillOptions): Promise<void> {
  buildPrograms()
  const shape = scaledShape(options.shape, options.events)
  const measure = async (services: BenchServices): Promise<void> => {
    const node = await startNode({ shape })
    try {
      await measureRuns({ options, shape, truth: makeTruth(shape), services, node })
    } finally {
      node.stop()
    }
  }
  await withServices(options.queue, measure, { countsStatements: options.statements })
}

async function measureRuns(setup: Setup): Promise<void> {
  const { options, truth, services, node } = setup
  const limits: Record<Limit, number[]> = { fetch: [], decode: [], write: [] }
  const runs: Run[] = []
  for (let number = 0; number <= options.runs; number += 1) {
    const run = await measureRun(setup)
    console.error(`${number === 0 ? 'warm-up' : `run ${number}`}: ${JSON.stringify(run)}`)
    for (const limit of Object.keys(limits) as Limit[]) {
      const seconds = await services.withDatabases(({ db }) => measureLimit(limit, node.url, truth.chain, db))
      if (number > 0) limits[limit].push(seconds)
    }
    if (number > 0) runs.push(run)
  }
  tell(setup, runs, limits)
}

function measureRun({ options, shape, truth, services, node }: Setup): Promise<Run> {
  const { postgres } = services
  return services.withDatabases(async (databases) => {
    const before = { postgres: await postgres.cpuSeconds(), node: await cpuSeconds(node.pid) }
    const network = syntheticNetwork(node.url, truth.chain.parties, {
      rpcUrls: namesOf(node.url, options.endpoints),
    })
    const profiling = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`]
    await postgres.takeStatements()
    const startedMs = performance.now()
    const measure = async (indexer: Program): Promise<Omit<Run, 'replaySeconds'>> => {
      const { startupCpu, ...seconds } = await timesOf(databases.db, indexer, startedMs, shape)
      const { peakMiB } = memoryOf(indexer.pid)
      const run = {
        ...seconds,
        indexerCpu: (await cpuSeconds(indexer.pid)) - startupCpu,
        postgresCpu: (await postgres.cpuSeconds()) - before.postgres,
        nodeCpu: (await cpuSeconds(node.pid)) - before.node,
        peakMiB,
        checked: await shareChecked(databases.db),
      }
      if (options.statements) tellStatements(await postgres.takeStatements())
      await compareWithTruth(databases.db, truth)
      return run
    }
    const run = await withIndexer(databases, network, measure, profiling)
    return { ...run, replaySeconds: await replaySeconds(databases) }
  })
}

async function timesOf(
  db: Db,
  indexer: Program,
  startedMs: number,
  { blocks }: ChainShape,
): Promise<Pick<Run, 'seconds' | 'startupSeconds'> & { startupCpu: number }> {
  await untilWritten(db, indexer, () => true)
  const followingMs = performance.now()
  const startupCpu = await cpuSeconds(indexer.pid)
  await untilWritten(db, indexer, ({ number }) => number === blocks, LOOK_EVERY_MS)
  const seconds = (performance.now() - followingMs) / 1000
  return { seconds, startupSeconds: (followingMs - startedMs) / 1000, startupCpu }
}

function tell(
  { options, shape, services: { postgres } }: Setup,
  runs: Run[],
  limits: Record<Limit, number[]>,
): void {
  const rate = (seconds: number[]): Spread => spreadOf(seconds.map((one) => shape.events / one))
  const backfill = rate(runs.map(({ seconds }) => seconds))
  const compared = (what: string, seconds: number[]): { what: string; ratio: number } & Spread => {
    const spread = rate(seconds)
    return { what, ...spread, ratio: backfill.median / spread.median }
  }
  const lines = [
    compared(
      'replay of the log that it wrote (same digest)',
      runs.map((run) => run.replaySeconds),
    ),
    ...Object.entries(LIMITS).map(([limit, what]) => compared(what, limits[limit as Limit])),
  ]
  const figures = {
    machine: machineFacts(),
    postgres: postgres.settings,
    shape: { name: options.shape, ...shape },
    ...{ queue: options.queue, endpoints: options.endpoints },
    backfill,
    compared: lines,
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
  console.log(`${figures.machine}; Postgres ${JSON.stringify(postgres.settings)}; queue on ${options.queue}; endpoints: ${options.endpoints}

| ${options.shape}: ${shape.events} events in ${shape.blocks} blocks | events/s, median of ${runs.length} | spread | backfill / this |
|---|---|---|---|
| backfill, everything on (as the truth, entry by entry) | ${whole(backfill)} | 1 |
${lines.map(({ what, ratio, ...spread }) => `| ${what} | ${whole(spread)} | ${ratio.toFixed(3)} |`).join('\n')}

| | median |
|---|---|
| seconds, and to start | ${figures.seconds.median.toFixed(1)}, ${figures.startupSeconds.median.toFixed(1)} |
| processor seconds: indexer, Postgres, node | ${indexer.median.toFixed(1)}, ${database.median.toFixed(1)}, ${node.median.toFixed(1)} |
| peak memory of the indexer, MiB | ${figures.peakMiB.median} |
| blocks whose answers were checked (${options.endpoints > 1 ? 'against a second endpoint or their blooms' : 'against their blooms'}), least | ${(figures.checked.least * 100).toFixed(1)} % |`)
}
