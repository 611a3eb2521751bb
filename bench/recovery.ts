import { seededRandom } from '../test/helpers/random-chain.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { bareStartSeconds, buildPrograms, prepareIndexer, untilWritten, type Program } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type Databases, type QueueKind } from './services.ts'
import { SHAPES } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareWithTruth, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface RecoveryOptions {
  queue: QueueKind
  /** Measured runs, after one warm-up. */
  runs: number
  events: number
  /** Seed of the blocks at which the indexer is killed. */
  seed: number
  json: boolean
}

/** Interval of looks at the database, ms. */
const LOOK_EVERY_MS = 2
const WITHIN = { least: 0.2, most: 0.8 }

interface Setup {
  truth: Truth
  services: BenchServices
  node: NodeProcess
}

/** Seconds from the start of the new process. */
interface Run {
  /** The block at which the previous process was killed. */
  killedAt: number
  /** Time until it is the network's writer. */
  leads: number
  /** Time until its first write. */
  writes: number
  /** Seconds from start to end of a process that only loads the same modules. */
  bareStart: number
}

/** Kills the indexer in mid-backfill and measures from the next one's start until its first write. */
export async function benchRecovery(options: RecoveryOptions): Promise<void> {
  buildPrograms()
  const { blocks, events, strangerLogs } = SHAPES.dense
  const shape = {
    blocks: Math.ceil((blocks * options.events) / events),
    events: options.events,
    strangerLogs,
  }
  const random = seededRandom(options.seed)
  await withServices(options.queue, async (services) => {
    const node = await startNode({ shape })
    try {
      const setup = { truth: makeTruth(shape), services, node }
      const runs = await runsAfterWarmUp(options.runs, () => {
        const share = WITHIN.least + (random.below(1000) / 1000) * (WITHIN.most - WITHIN.least)
        return measureRun(setup, Math.ceil(shape.blocks * share))
      })
      tell(options, shape.blocks, services, runs)
    } finally {
      node.stop()
    }
  })
}

function measureRun({ truth, services, node }: Setup, killAt: number): Promise<Run> {
  return services.withDatabases(async (databases) => {
    const network = syntheticNetwork(node.url, truth.chain.parties)
    const { start, remove } = await prepareIndexer(databases, network)
    const lives: Program[] = []
    try {
      const live = (): Program => {
        const life = start()
        lives.push(life)
        return life
      }
      const { blocks } = truth.chain.shape
      const recovered = await killAndStart(databases, live, { killAt, blocks })
      await untilWritten(databases.db, recovered.indexer, ({ number }) => number === blocks)
      await compareWithTruth(databases.db, truth)
      return { ...recovered.seconds, bareStart: await bareStartSeconds() }
    } finally {
      for (const life of lives) await life.stop()
      await remove()
    }
  })
}

async function killAndStart(
  { db }: Databases,
  start: () => Program,
  { killAt, blocks }: { killAt: number; blocks: number },
): Promise<{ indexer: Program; seconds: Omit<Run, 'bareStart'> }> {
  const first = start()
  const killed = await untilWritten(db, first, ({ number }) => (number ?? 0) >= killAt, LOOK_EVERY_MS)
  await first.kill()
  if (killed.number === blocks)
    throw new Error('all was written before it was killed: more --events are needed')
  const startedMs = performance.now()
  const seconds = (): number => (performance.now() - startedMs) / 1000
  const indexer = start()
  // Statements that the killed process sent may still be executed until the next one is the writer.
  let killedAt = killed.number ?? 0
  const isLed = ({ number, epoch }: typeof killed): boolean => {
    if (epoch === killed.epoch) killedAt = number ?? 0
    return epoch > killed.epoch
  }
  await untilWritten(db, indexer, isLed, LOOK_EVERY_MS)
  const leads = seconds()
  await untilWritten(db, indexer, ({ number }) => (number ?? 0) > killedAt, LOOK_EVERY_MS)
  return { indexer, seconds: { killedAt, leads, writes: seconds() } }
}

function tell(options: RecoveryOptions, blocks: number, services: BenchServices, runs: Run[]): void {
  const of = (pick: (run: Run) => number): Spread => spreadOf(runs.map(pick))
  const { queue, seed, events } = options
  const figures = {
    ...{ seed, events, blocks, killedAt: runs.map(({ killedAt }) => killedAt) },
    writesSeconds: of(({ writes }) => writes),
    leadsSeconds: of(({ leads }) => leads),
    bareStartSeconds: of(({ bareStart }) => bareStart),
  }
  const markdown = `Backfill of ${events} events in ${blocks} blocks, killed at block ${figures.killedAt.join(', ')} (--seed ${seed})

| seconds from the start of the new process | median of ${runs.length} (spread) |
|---|---|
| until it writes | ${spreadText(figures.writesSeconds, 2)} |
| of them until it is the network’s writer | ${spreadText(figures.leadsSeconds, 2)} |
| a process that only loads the same modules and ends | ${spreadText(figures.bareStartSeconds, 2)} |`
  printFigures(options.json, { postgres: services.postgres.settings, queue }, figures, markdown)
}
