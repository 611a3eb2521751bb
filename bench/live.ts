import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from '../test/helpers/random-chain.ts'
import { HistoryWatch, pageOf, type PageText } from './history-watch.ts'
import { percentile, spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, untilWritten, withApi, withIndexer } from './programs.ts'
import { printFigures } from './runs.ts'
import { withServices, type BenchServices, type QueueKind } from './services.ts'
import type { ChainShape } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface LiveOptions {
  queue: QueueKind
  runs: number
  /** Measured blocks in each run, after {@link WARM_UP_BLOCKS} unmeasured ones. */
  blocks: number
  /** `pollIntervalMs` of the polling indexer. */
  pollMs: number
  json: boolean
}

/** Blocks that exist before the first new one. */
const OLD_BLOCKS = 500
const WARM_UP_BLOCKS = 20
const EVENTS_PER_BLOCK = 5
const STRANGER_LOGS = 20
/** Random time between two blocks, so that they never fall in step with the indexer's timers. */
const GAP_MS = { least: 200, most: 300 }
/** Pause while no block is pending. */
const IDLE_MS = 1

interface Setup {
  truth: Truth
  /** The block up to which a page 1 holds all records. */
  blockOf: Map<PageText, number>
  services: BenchServices
  node: NodeProcess
}

interface Run {
  /** One figure for each measured block. */
  visibleMs: number[]
  /** Times between looks at the history. */
  apartMs: number[]
}

/** Measures the time from the node's new block until an answer of the API has its last record. */
export async function benchLive(options: LiveOptions): Promise<void> {
  buildPrograms()
  const blocks = OLD_BLOCKS + WARM_UP_BLOCKS + options.blocks
  const shape = { blocks, events: blocks * EVENTS_PER_BLOCK, strangerLogs: STRANGER_LOGS }
  const truth = makeTruth(shape)
  await withServices(options.queue, async (services) => {
    const node = await startNode({ shape, head: OLD_BLOCKS, finality: 'epochs' })
    try {
      const setup = { truth, blockOf: blocksByPage(truth), services, node }
      const variants = [
        { heads: 'WebSocket newHeads', settings: { wsUrl: node.wsUrl } },
        { heads: `polling every ${options.pollMs} ms`, settings: { pollIntervalMs: options.pollMs } },
      ].map((variant) => ({ ...variant, runs: new Array<Run>() }))
      for (let run = 1; run <= options.runs; run += 1) {
        for (const { heads, settings, runs } of variants) {
          const measured = await measureRun(setup, settings)
          console.error(`run ${run}, ${heads}: p50 ${percentile(measured.visibleMs, 50).toFixed(1)} ms`)
          runs.push(measured)
        }
      }
      tell(
        options,
        shape,
        services,
        variants.map(({ heads, runs }) => figuresOf(heads, runs)),
      )
    } finally {
      node.stop()
    }
  })
}

function blocksByPage({ chain, history }: Truth): Map<PageText, number> {
  const pages = new Map<PageText, number>()
  let records = 0
  for (let block = 1; block <= chain.shape.blocks; block += 1) {
    while (history[records]?.blockNumber === block) records += 1
    if (block >= OLD_BLOCKS) pages.set(pageOf(history.slice(0, records)), block)
  }
  return pages
}

function measureRun({ truth, blockOf, services, node }: Setup, settings: object): Promise<Run> {
  return services.withDatabases(async (databases) => {
    await node.show({ branch: 'main', head: OLD_BLOCKS })
    const network = syntheticNetwork(node.url, truth.chain.parties, settings)
    return withIndexer(databases, network, (indexer) =>
      withApi(databases, async (apiUrl) => {
        await untilWritten(databases.db, indexer, ({ number }) => number === OLD_BLOCKS)
        const run = await follow(node, apiUrl, blockOf, truth.chain.shape.blocks)
        await compareWithTruth(databases.db, truth)
        return run
      }),
    )
  })
}

/**
 * Makes the new blocks at their times, whether or not the one before is visible, and notes when each becomes visible.
 */
async function follow(
  node: NodeProcess,
  apiUrl: string,
  blockOf: Map<PageText, number>,
  last: number,
): Promise<Run> {
  const watch = new HistoryWatch(apiUrl)
  const toldMs: number[] = []
  const visibleMs: number[] = []
  const ending = new AbortController()
  const made = makeBlocks(node, last, (block, ms) => (toldMs[block] = ms), ending.signal)
  const failures: unknown[] = []
  made.catch((error: unknown) => failures.push(error))
  try {
    let page = await watch.look()
    for (let visible = OLD_BLOCKS; visible < last;) {
      while (toldMs[visible + 1] === undefined && failures.length === 0) await delay(IDLE_MS)
      if (failures.length > 0) await made
      const seen = await watch.untilOther(page)
      const block = blockOf.get(seen.page)
      if (block === undefined || block <= visible) throw new Error(`an answer is not the truth: no figure`)
      while (visible < block) {
        visible += 1
        const told = toldMs[visible]
        if (told === undefined) throw new Error(`block ${visible} was seen before it was told: no figure`)
        visibleMs.push(seen.atMs - told)
      }
      page = seen.page
    }
  } finally {
    watch.close()
    ending.abort()
    await made
  }
  return { visibleMs: visibleMs.slice(WARM_UP_BLOCKS), apartMs: watch.apartMs }
}

async function makeBlocks(
  node: NodeProcess,
  last: number,
  onTold: (block: number, ms: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const random = seededRandom(1)
  for (let head = OLD_BLOCKS + 1; head <= last; head += 1) {
    const gapMs = GAP_MS.least + random.below(GAP_MS.most - GAP_MS.least + 1)
    await delay(gapMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    onTold(head, await node.show({ branch: 'main', head }))
  }
}

interface Figures {
  heads: string
  blocks: number
  p50Ms: Spread
  p99Ms: Spread
  /** The watcher's interval, which bounds the excess of each figure. */
  apartMs: { p50: number; p99: number }
}

function figuresOf(heads: string, runs: readonly Run[]): Figures {
  const ofRuns = (p: number): Spread => spreadOf(runs.map(({ visibleMs }) => percentile(visibleMs, p)))
  const apart = runs.flatMap(({ apartMs }) => apartMs)
  return {
    heads,
    blocks: runs[0]?.visibleMs.length ?? 0,
    p50Ms: ofRuns(50),
    p99Ms: ofRuns(99),
    apartMs: { p50: percentile(apart, 50), p99: percentile(apart, 99) },
  }
}

function tell(options: LiveOptions, shape: ChainShape, services: BenchServices, variants: Figures[]): void {
  const { queue, runs, json } = options
  const markdown = `From a new block of ${EVENTS_PER_BLOCK} events until its last record is in an answer; a block every ${GAP_MS.least} – ${GAP_MS.most} ms, ${runs} runs each, in turns

| the indexer hears of heads by | blocks a run | p50 ms: median (spread) | p99 ms: median (spread) | answers apart, ms: p50, p99 |
|---|---|---|---|---|
${variants.map(({ heads, blocks, p50Ms, p99Ms, apartMs }) => `| ${heads} | ${blocks} | ${spreadText(p50Ms, 1)} | ${spreadText(p99Ms, 1)} | ${apartMs.p50.toFixed(1)}, ${apartMs.p99.toFixed(1)} |`).join('\n')}`
  printFigures(json, { postgres: services.postgres.settings, queue }, { runs, shape, variants }, markdown)
}
