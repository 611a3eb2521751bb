import { spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, replaySeconds, untilWritten, withIndexer } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type Databases, type QueueKind } from './services.ts'
import { scaledShape, type ShapeName } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface ReplayOptions {
  shape: ShapeName
  queue: QueueKind
  /** Measured backfills with a replay of each, after one warm-up. */
  runs: number
  /** Number of events, at the shape's density. */
  events: number | undefined
  json: boolean
}

interface RunSeconds {
  backfill: number
  replay: number
}

/** Rebuilds the read model from the log of the backfill just before, like an operator, and compares the speeds. */
export async function benchReplay(options: ReplayOptions): Promise<void> {
  buildPrograms()
  const truth = makeTruth(scaledShape(options.shape, options.events))
  await withServices(options.queue, async (services) => {
    const node = await startNode({ shape: truth.chain.shape })
    const measure = (): Promise<RunSeconds> =>
      services.withDatabases(async (databases) => ({
        backfill: await backfillSeconds(databases, node, truth),
        replay: await replaySeconds(databases),
      }))
    try {
      tell(options, truth, services, await runsAfterWarmUp(options.runs, measure))
    } finally {
      node.stop()
    }
  })
}

/** Measures from the first look at the chain until all of it is written; the result must equal the truth. */
function backfillSeconds(databases: Databases, node: NodeProcess, truth: Truth): Promise<number> {
  const { db } = databases
  const { chain } = truth
  return withIndexer(databases, syntheticNetwork(node.url, chain.parties), async (indexer) => {
    await untilWritten(db, indexer, () => true)
    const startedMs = performance.now()
    await untilWritten(db, indexer, ({ number }) => number === chain.shape.blocks)
    const seconds = (performance.now() - startedMs) / 1000
    await compareWithTruth(db, truth)
    return seconds
  })
}

function tell(options: ReplayOptions, truth: Truth, services: BenchServices, runs: RunSeconds[]): void {
  const { shape } = truth.chain
  const figures = {
    shape: { name: options.shape, ...shape },
    runs: options.runs,
    backfillEventsPerS: spreadOf(runs.map(({ backfill }) => shape.events / backfill)),
    replayRecordsPerS: spreadOf(runs.map(({ replay }) => truth.history.length / replay)),
    ratio: spreadOf(runs.map(({ backfill, replay }) => backfill / replay)),
  }
  const on = { postgres: services.postgres.settings, queue: options.queue }
  const row = (what: string, spread: Spread, digits: number): string =>
    `| ${what} | ${spreadText(spread, digits)} |`
  const markdown = `| ${options.shape}: ${shape.events} events in ${shape.blocks} blocks, ${options.runs} times | median (spread) |
|---|---|
${row('events/s, backfill (as the truth, entry by entry)', figures.backfillEventsPerS, 0)}
${row('records/s, replay of the log that it wrote (same digest)', figures.replayRecordsPerS, 0)}
${row('replay against the backfill before it', figures.ratio, 2)}`
  printFigures(options.json, on, figures, markdown)
}
