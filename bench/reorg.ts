import { cpuSeconds } from './bench-postgres.ts'
import { HistoryWatch, pageOf, requireHistory } from './history-watch.ts'
import { percentile, spreadOf, spreadText } from './measure.ts'
import { buildPrograms, untilWritten, withApi, withIndexer } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type QueueKind } from './services.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeReorgTruth, type ReorgTruth } from './synthetic-evm/truth.ts'

export interface ReorgOptions {
  queue: QueueKind
  /** Measured runs, after one warm-up. */
  runs: number
  json: boolean
}

/** Gives 1,000 events in any 64 blocks. */
const SHAPE = { events: 10_312, blocks: 660, strangerLogs: 2 }
/** End of the old branch; the new one is a block longer. */
const HEAD = SHAPE.blocks - 1
const DEPTH = 64
const FORK_AFTER = HEAD - DEPTH
/** Blocks that come one by one before the reorg, so that the indexer has been at the head for a while. */
const WARM_UP_BLOCKS = 40

interface Setup {
  truth: ReorgTruth
  services: BenchServices
  node: NodeProcess
}

interface Run {
  reorgMs: number
  /** Processor time meanwhile, in the operating system's ticks of 10 ms. */
  indexerCpuMs: number
  postgresCpuMs: number
  apartMs: number[]
}

/** Measures the time from the node's switch to the other branch until an API answer shows that branch, whole. */
export async function benchReorg(options: ReorgOptions): Promise<void> {
  buildPrograms()
  const truth = makeReorgTruth(SHAPE, { forkAfter: FORK_AFTER, head: HEAD })
  await withServices(options.queue, async (services) => {
    const node = await startNode({ shape: SHAPE, forkAfter: FORK_AFTER, finality: 'epochs' })
    try {
      const runs = await runsAfterWarmUp(
        options.runs,
        () => measureRun({ truth, services, node }),
        ({ reorgMs }) => `${reorgMs.toFixed(0)} ms`,
      )
      tell(options, truth, services, runs)
    } finally {
      node.stop()
    }
  })
}

function measureRun({ truth, services, node }: Setup): Promise<Run> {
  return services.withDatabases(async (databases) => {
    const { db } = databases
    const first = HEAD - WARM_UP_BLOCKS
    await node.show({ branch: 'main', head: first })
    const network = syntheticNetwork(node.url, truth.chain.parties, { wsUrl: node.wsUrl })
    return withIndexer(databases, network, (indexer) =>
      withApi(databases, async (apiUrl) => {
        for (let head = first; head <= HEAD; head += 1) {
          await node.show({ branch: 'main', head })
          await untilWritten(db, indexer, ({ number }) => number === head, 5)
        }
        const cpuMs = async (): Promise<[number, number]> => [
          (await cpuSeconds(indexer.pid)) * 1000,
          (await services.postgres.cpuSeconds()) * 1000,
        ]
        const before = await cpuMs()
        const seen = await reorganize(truth, node, apiUrl)
        const after = await cpuMs()
        await requireHistory(apiUrl, truth.history)
        await compareWithTruth(db, truth)
        return { ...seen, indexerCpuMs: after[0] - before[0], postgresCpuMs: after[1] - before[1] }
      }),
    )
  })
}

/** The first changed answer must be the new branch, because no state between is visible. */
async function reorganize(
  truth: ReorgTruth,
  node: NodeProcess,
  apiUrl: string,
): Promise<Pick<Run, 'reorgMs' | 'apartMs'>> {
  const watch = new HistoryWatch(apiUrl)
  try {
    const before = await watch.look()
    if (before !== pageOf(truth.before)) throw new Error('the old branch is not the truth: no figure')
    const changed = watch.untilOther(before)
    const shown = node.show({ branch: 'other', head: SHAPE.blocks })
    const [{ page, atMs }, toldMs] = await Promise.all([changed, shown])
    if (page !== pageOf(truth.history)) throw new Error('the new branch is not the truth: no figure')
    return { reorgMs: atMs - toldMs, apartMs: watch.apartMs }
  } finally {
    watch.close()
  }
}

function tell(options: ReorgOptions, truth: ReorgTruth, services: BenchServices, runs: Run[]): void {
  const count = (op: string): number => truth.log.filter((entry) => entry.op === op).length
  const [kept, gone] = [count('replace'), count('retract')]
  const records = { old: kept + gone, kept, gone, new: count('append') - truth.before.length }
  const apart = runs.flatMap(({ apartMs }) => apartMs)
  const figures = {
    ...{ depth: DEPTH, records, runs: runs.length },
    reorgMs: spreadOf(runs.map(({ reorgMs }) => reorgMs)),
    apartMs: { p50: percentile(apart, 50), p99: percentile(apart, 99) },
    cpuMs: {
      indexer: spreadOf(runs.map(({ indexerCpuMs }) => indexerCpuMs)),
      postgres: spreadOf(runs.map(({ postgresCpuMs }) => postgresCpuMs)),
    },
  }
  const { p50, p99 } = figures.apartMs
  const markdown = `From the node’s switch to another branch until an answer shows it; heads by WebSocket newHeads

| blocks | records of the old branch | kept | gone | new | ms: median of ${runs.length} (spread) | answers apart, ms: p50, p99 |
|---|---|---|---|---|---|---|
| ${DEPTH} | ${records.old} | ${kept} | ${gone} | ${records.new} | ${spreadText(figures.reorgMs, 0)} | ${p50.toFixed(1)}, ${p99.toFixed(1)} |

Processor ms meanwhile: indexer ${figures.cpuMs.indexer.median.toFixed(0)}, Postgres ${figures.cpuMs.postgres.median.toFixed(0)}, the watch’s questions included`
  const on = { postgres: services.postgres.settings, queue: options.queue }
  printFigures(options.json, on, figures, markdown)
}
