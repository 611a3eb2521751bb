import type { Db } from '../shared/db/connect.ts'
import { memoryOf } from '../test/helpers/process-memory.ts'
import { cpuSeconds } from './bench-postgres.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import {
  buildPrograms,
  prepareIndexer,
  replaySeconds,
  untilWritten,
  type Position,
  type Program,
} from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type Databases, type QueueKind } from './services.ts'
import { CHAIN_ID, scaledShape, type ChainShape } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork, type NodeProcess } from './synthetic-evm/synthetic-node.ts'
import { compareNetworkWithTruth, makeTruth, type NetworkName, type Truth } from './synthetic-evm/truth.ts'

export interface NetworksOptions {
  queue: QueueKind
  /** The largest number of networks. */
  networks: number
  /** Events of each network. */
  events: number
  /** Measured runs of each kind, in turns, after one warm-up. */
  runs: number
  json: boolean
}

interface Network extends NetworkName {
  truth: Truth
  node: NodeProcess
}

/** So many indexers that have equal parts of the networks, or one process for each role. */
type Dealing = number | 'a reader and a writer'

/** The number of networks and the processes that write them. */
interface Kind {
  count: number
  dealing: Dealing
}

interface Run {
  /** All networks together, from the first look at a chain until the last one is written. */
  eventsPerS: number
  /** Processor seconds per 100,000 events: of the indexers with their starts, and of Postgres. */
  indexerCpu: number
  postgresCpu: number
  /** Peak of the largest indexer. */
  peakMiB: number
}

/** Measures backfills of 1, 2, 4 networks at once into one database, by 1, 2, 4 indexers. */
export function benchNetworks(options: NetworksOptions): Promise<void> {
  return benchKinds(
    options,
    powersOfTwo(options.networks).flatMap((count) =>
      powersOfTwo(count).map((dealing): Kind => ({ count, dealing })),
    ),
  )
}

/** Measures backfills of one network and of several: by one process, and by a reader and a writer in two. */
export function benchRoles(options: NetworksOptions): Promise<void> {
  return benchKinds(
    options,
    [...new Set([1, options.networks])].flatMap((count): Kind[] =>
      ([1, 'a reader and a writer'] as const).map((dealing) => ({ count, dealing })),
    ),
  )
}

function powersOfTwo(most: number): number[] {
  return Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, power) => 2 ** power)
}

async function benchKinds(options: NetworksOptions, kinds: readonly Kind[]): Promise<void> {
  buildPrograms()
  const shape = scaledShape('dense', options.events)
  await withServices(options.queue, async (services) => {
    const networks: Network[] = []
    try {
      for (let index = 1; index <= options.networks; index += 1) {
        const chainId = CHAIN_ID + index
        const node = await startNode({ shape, seed: index, chainId })
        networks.push({ chainId, idPrefix: `n${index}`, truth: makeTruth(shape, index), node })
      }
      await measureAll(options, shape, services, networks, kinds)
    } finally {
      for (const { node } of networks) node.stop()
    }
  })
}

async function measureAll(
  options: NetworksOptions,
  shape: ChainShape,
  services: BenchServices,
  networks: readonly Network[],
  kinds: readonly Kind[],
): Promise<void> {
  const turns = await runsAfterWarmUp(options.runs, async () => {
    const turn: Run[] = []
    for (const { count, dealing } of kinds) {
      turn.push(await measureRun(shape, services, networks.slice(0, count), dealing))
    }
    return turn
  })
  tell(
    options,
    shape,
    services,
    kinds.map((kind, index) =>
      figuresOf(
        kind,
        turns.flatMap((turn) => turn[index] ?? []),
      ),
    ),
  )
}

interface Figures extends Kind {
  eventsPerS: Spread
  cpuSecondsFor100000Events: { indexers: Spread; postgres: Spread }
  peakMiB: Spread
}

function figuresOf(kind: Kind, runs: readonly Run[]): Figures {
  return {
    ...kind,
    eventsPerS: spreadOf(runs.map(({ eventsPerS }) => eventsPerS)),
    cpuSecondsFor100000Events: {
      indexers: spreadOf(runs.map(({ indexerCpu }) => indexerCpu)),
      postgres: spreadOf(runs.map(({ postgresCpu }) => postgresCpu)),
    },
    peakMiB: spreadOf(runs.map(({ peakMiB }) => peakMiB)),
  }
}

function tell(
  { queue, runs, json }: NetworksOptions,
  shape: ChainShape,
  services: BenchServices,
  kinds: Figures[],
): void {
  const oneProcess = (count: number): number =>
    kinds.find((kind) => kind.count === count && kind.dealing === 1)?.eventsPerS.median ?? NaN
  const markdown = `${shape.events} events in ${shape.blocks} blocks of each network; each log, history and its loans as the truth; the first indexer’s
first look at a chain begins the time, so that others still start in it

| networks | written by | events/s together: median of ${runs} (spread) | / one indexer | processor seconds for 100,000 events: indexers, Postgres | peak of an indexer, MiB |
|---|---|---|---|---|---|
${kinds.map(({ count, dealing, eventsPerS, cpuSecondsFor100000Events: cpu, peakMiB }) => `| ${count} | ${typeof dealing === 'number' ? `${dealing} indexers` : dealing} | ${spreadText(eventsPerS, 0)} | ${(eventsPerS.median / oneProcess(count)).toFixed(2)} | ${spreadText(cpu.indexers, 1)}, ${spreadText(cpu.postgres, 1)} | ${spreadText(peakMiB, 0)} |`).join('\n')}`
  printFigures(json, { postgres: services.postgres.settings, queue }, { runs, shape, kinds }, markdown)
}

function measureRun(
  { events, blocks }: ChainShape,
  { postgres, withDatabases }: BenchServices,
  networks: readonly Network[],
  dealing: Dealing,
): Promise<Run> {
  return withDatabases(async (databases) => {
    const programs = await Promise.all(prepareAll(databases, networks, dealing))
    const before = await postgres.cpuSeconds()
    const indexers: Program[] = []
    try {
      for (const { start } of programs) {
        if (dealing === 'a reader and a writer' && indexers.length > 0)
          await untilAllWrite(databases.db, networks)
        indexers.push(start())
      }
      const requireAlive = (): void => {
        for (const indexer of indexers) indexer.requireAlive()
      }
      const until = (chainId: number, isThere: (position: Position) => boolean): Promise<unknown> =>
        untilWritten(databases.db, { requireAlive }, isThere, 20, chainId)
      await Promise.race(networks.map(({ chainId }) => until(chainId, ({ readerEpoch }) => readerEpoch > 0)))
      const startedMs = performance.now()
      await Promise.all(networks.map(({ chainId }) => until(chainId, ({ number }) => number === blocks)))
      const seconds = (performance.now() - startedMs) / 1000
      const indexerCpu = await Promise.all(indexers.map(({ pid }) => cpuSeconds(pid)))
      const postgresCpu = (await postgres.cpuSeconds()) - before
      const peaksMiB = indexers.map(({ pid }) => memoryOf(pid).peakMiB)
      for (const { truth, ...name } of networks) await compareNetworkWithTruth(databases.db, truth, name)
      // A replay checks the order of records across networks, which no network's own truth covers.
      await replaySeconds(databases)
      const written = events * networks.length
      const each = 100_000 / written
      return {
        eventsPerS: written / seconds,
        indexerCpu: indexerCpu.reduce((sum, one) => sum + one, 0) * each,
        postgresCpu: postgresCpu * each,
        peakMiB: Math.max(...peaksMiB),
      }
    } finally {
      await Promise.all(indexers.map((indexer) => indexer.stop()))
      await Promise.all(programs.map(({ remove }) => remove()))
    }
  })
}

/** In the order in which they start. */
function prepareAll(
  databases: Databases,
  networks: readonly Network[],
  dealing: Dealing,
): ReturnType<typeof prepareIndexer>[] {
  const prepare = (own: readonly Network[], role?: string): ReturnType<typeof prepareIndexer> =>
    prepareIndexer(
      databases,
      own.map(({ chainId, idPrefix, truth, node }) =>
        syntheticNetwork(node.url, truth.chain.parties, { networkId: String(chainId) }, idPrefix),
      ),
      [],
      role,
    )
  if (dealing === 'a reader and a writer') return [prepare(networks, 'writer'), prepare(networks, 'reader')]
  return Array.from({ length: dealing }, (_, index) =>
    prepare(networks.filter((_network, at) => at % dealing === index)),
  )
}

/** The time begins with the reader, as it does where one process has both roles: the writer is there by then. */
async function untilAllWrite(db: Db, networks: readonly Network[]): Promise<void> {
  const requireAlive = (): void => undefined
  await Promise.all(
    networks.map(({ chainId }) => untilWritten(db, { requireAlive }, ({ epoch }) => epoch > 0, 20, chainId)),
  )
}
