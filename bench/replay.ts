import { spreadOf } from './measure.ts'
import { buildPrograms, replaySeconds, untilWritten, withIndexer } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type Databases, type QueueKind } from './services.ts'
import { scaledShape, type ShapeName } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface ReplayOptions {
  shape: ShapeName
  queue: QueueKind
  /** Measured replays, after one that is not. */
  runs: number
  /** As many events as this, at the shape's density. */
  events: number | undefined
  json: boolean
}

/** What one backfill and the replays of its log took. */
interface Seconds {
  backfill: number
  replays: number[]
}

/** The read model again and again from the log that one backfill wrote, as an operator builds it: records per second. */
export async function benchReplay(options: ReplayOptions): Promise<void> {
  buildPrograms()
  const truth = makeTruth(scaledShape(options.shape, options.events))
  await withServices(options.queue, async (services) => {
    const node = await startNode({ shape: truth.chain.shape })
    try {
      const seconds = await services.withDatabases(async (databases) => ({
        backfill: await backfillSeconds(databases, node, truth),
        replays: await runsAfterWarmUp(options.runs, () => replaySeconds(databases)),
      }))
      tell(options, truth, services, seconds)
    } finally {
      node.stop()
    }
  })
}

/** From the first look at the chain until all of it is written, as the truth has it. */
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

function tell(options: ReplayOptions, truth: Truth, services: BenchServices, seconds: Seconds): void {
  const { shape } = truth.chain
  const backfill = shape.events / seconds.backfill
  const replay = spreadOf(seconds.replays.map((one) => truth.history.length / one))
  const figures = {
    shape: { name: options.shape, ...shape },
    runs: options.runs,
    backfillEventsPerS: backfill,
    replayRecordsPerS: replay,
    ratio: replay.median / backfill,
  }
  const on = { postgres: services.postgres.settings, queue: options.queue }
  const markdown = `| ${options.shape}: ${shape.events} events in ${shape.blocks} blocks | per second | spread | of the backfill |
|---|---|---|---|
| events, backfill (as the truth, entry by entry), one run | ${backfill.toFixed(0)} | | 1 |
| records, replay of its log (same digest), median of ${options.runs} | ${replay.median.toFixed(0)} | ${replay.least.toFixed(0)} – ${replay.most.toFixed(0)} | ${figures.ratio.toFixed(2)} |`
  printFigures(options.json, on, figures, markdown)
}
