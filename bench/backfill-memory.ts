import { memoryOf } from '../test/helpers/process-memory.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, untilWritten, withIndexer } from './programs.ts'
import { printFigures } from './runs.ts'
import { withServices, type BenchServices, type QueueKind } from './services.ts'
import { scaledShape, type ChainShape } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface MemoryOptions {
  queue: QueueKind
  /** Measured runs on each chain. There is no warm-up, because each run is a new process. */
  runs: number
  /** Events of each chain. */
  events: number
  json: boolean
}

const EVENTS_PER_FULL_BLOCK = 500
/** Shares of the chain's blocks, and so of its events, at which memory is measured. */
const LOOKS_AT = [0.25, 0.5, 0.75, 1]
/** Interval of looks at the database. */
const LOOK_EVERY_MS = 5

/** Figures of the indexer's process, MiB. */
interface Run {
  /** Peak from its start until all of the chain is written. */
  peak: number
  /** Resident memory at each of {@link LOOKS_AT}. */
  resident: number[]
}

interface Figures {
  chain: string
  shape: ChainShape
  peakMiB: Spread
  /** Medians of all runs. */
  residentMiB: { share: number; median: number }[]
}

/** Measures the memory of the indexer while it backfills chains of full, dense and sparse blocks. */
export async function benchMemory(options: MemoryOptions): Promise<void> {
  buildPrograms()
  await withServices(options.queue, async (services) => {
    const chains: Figures[] = []
    for (const [chain, shape] of Object.entries(shapesOf(options.events))) {
      const runs = await measureRuns(shape, chain, options, services)
      chains.push(figuresOf(chain, shape, runs))
    }
    tell(options, services, chains)
  })
}

function shapesOf(events: number): Record<string, ChainShape> {
  const { strangerLogs } = scaledShape('dense', events)
  return {
    dense: scaledShape('dense', events),
    sparse: scaledShape('sparse', events),
    [`${EVENTS_PER_FULL_BLOCK} events in each block`]: {
      ...{ events, blocks: Math.ceil(events / EVENTS_PER_FULL_BLOCK), strangerLogs },
    },
  }
}

async function measureRuns(
  shape: ChainShape,
  chain: string,
  options: MemoryOptions,
  services: BenchServices,
): Promise<Run[]> {
  const truth = makeTruth(shape)
  const node = await startNode({ shape })
  try {
    const runs: Run[] = []
    for (let number = 1; number <= options.runs; number += 1) {
      const run = await measureRun(truth, node, services)
      console.error(`${chain}, run ${number}: ${JSON.stringify(run)}`)
      runs.push(run)
    }
    return runs
  } finally {
    node.stop()
  }
}

function measureRun(truth: Truth, node: NodeProcess, services: BenchServices): Promise<Run> {
  const { shape, parties } = truth.chain
  return services.withDatabases((databases) =>
    withIndexer(databases, syntheticNetwork(node.url, parties), async (indexer) => {
      const resident: number[] = []
      for (const share of LOOKS_AT) {
        const block = Math.ceil(shape.blocks * share)
        await untilWritten(databases.db, indexer, ({ number }) => (number ?? 0) >= block, LOOK_EVERY_MS)
        resident.push(memoryOf(indexer.pid).residentMiB)
      }
      const { peakMiB: peak } = memoryOf(indexer.pid)
      await compareWithTruth(databases.db, truth)
      return { peak, resident }
    }),
  )
}

function figuresOf(chain: string, shape: ChainShape, runs: readonly Run[]): Figures {
  const residentMiB = LOOKS_AT.map((share, index) => {
    const { median } = spreadOf(runs.map(({ resident }) => resident[index] ?? NaN))
    return { share, median }
  })
  return { chain, shape, peakMiB: spreadOf(runs.map(({ peak }) => peak)), residentMiB }
}

function tell(options: MemoryOptions, services: BenchServices, chains: Figures[]): void {
  const { queue, runs, json } = options
  const shares = LOOKS_AT.map((share) => `resident at ${share * 100} %, median`)
  const markdown = `MiB of the indexer, ${runs} runs on each chain (each run as the truth, entry by entry)

| chain | events | blocks | peak: median (spread) | ${shares.join(' | ')} |
|---|---|---|---|${'---|'.repeat(shares.length)}
${chains.map(({ chain, shape, peakMiB, residentMiB }) => `| ${chain} | ${shape.events} | ${shape.blocks} | ${spreadText(peakMiB, 0)} | ${residentMiB.map(({ median }) => median.toFixed(0)).join(' | ')} |`).join('\n')}`
  printFigures(json, { postgres: services.postgres.settings, queue }, { runs, chains }, markdown)
}
