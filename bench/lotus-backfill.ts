import { memoryOf } from '../test/helpers/process-memory.ts'
import { cpuSeconds } from './bench-postgres.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, untilPosition, withIndexerOf, type Program } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type BenchServices, type QueueKind } from './services.ts'
import { makeChannelLives, type ChannelLives } from './synthetic-lotus/channel-lives.ts'
import { startLotus } from './synthetic-lotus/lotus-node.ts'
import { compareWithLives } from './synthetic-lotus/lotus-truth.ts'
import { EPOCH_S, NOT_FINAL, type LotusShape } from './synthetic-lotus/tipsets.ts'

export interface LotusOptions {
  queue: QueueKind
  /** Tipsets of a chain with few messages each; a twentieth of it for tipsets of 300 messages. */
  tipsets: number
  /** Measured runs, after one warm-up. */
  runs: number
  json: boolean
}

/** Messages per tipset that concern no channel: an idle chain, a quiet day, and a busy one. */
const MESSAGES = [0, 20, 300]
const NETWORK_ID = 'testnet'
/** The limit sends the source's calls: two for a tipset's messages, one for its height. */
const TIPSETS_PER_REQUEST = 50
const MOST_MESSAGES_ASKED = 3_000
const PARALLEL = 4
const LOOK_EVERY_MS = 20

interface Run {
  /** Time from the first look at the chain until all of it is written. */
  seconds: number
  /** Seconds to request the same tipsets and messages and parse the answers, and nothing else. */
  limitSeconds: number
  indexerCpu: number
  postgresCpu: number
  peakMiB: number
}

interface Figures {
  messages: number
  tipsets: number
  events: number
  /** Tipsets a second. */
  backfill: Spread
  limit: Spread
  /** Ratio of the medians. */
  ratio: number
  /** Processor seconds of the indexer, excluding its start, and of Postgres. */
  indexerCpu: Spread
  postgresCpu: Spread
  peakMiB: Spread
}

/**
 * Measures tipsets per second of the whole indexer, as production runs it, and of its requests alone in the same
 * minutes.
 */
export async function benchLotus(options: LotusOptions): Promise<void> {
  buildPrograms()
  await withServices(options.queue, async (services) => {
    const figures: Figures[] = []
    for (const messages of MESSAGES) figures.push(await measureChain(options, services, messages))
    tell(options, services, figures)
  })
}

async function measureChain(
  options: LotusOptions,
  services: BenchServices,
  messages: number,
): Promise<Figures> {
  const tipsets = messages > 100 ? Math.ceil(options.tipsets / 20) : options.tipsets
  // The newest tipset is recent, because a node with an old head counts as stopped.
  const genesisTimeS = Math.floor(Date.now() / 1000) - (tipsets + NOT_FINAL) * EPOCH_S
  const shape = { tipsets, messages, genesisTimeS }
  const lives = await makeChannelLives(shape)
  const node = await startLotus(shape)
  try {
    const runs = await runsAfterWarmUp(
      options.runs,
      () => measureRun(services, node.url, shape, lives),
      (run) => `${messages} messages: ${JSON.stringify(run)}`,
    )
    return figuresOf(shape, lives, runs)
  } finally {
    node.stop()
  }
}

function measureRun(
  { postgres, withDatabases }: BenchServices,
  url: string,
  { tipsets, messages }: LotusShape,
  { actions }: ChannelLives,
): Promise<Run> {
  return withDatabases(async (databases) => {
    const { db } = databases
    const postgresBefore = await postgres.cpuSeconds()
    const network = { networkId: NETWORK_ID, rpcUrls: [url], pollIntervalMs: 60_000, readVoucherStore: false }
    const measure = async (indexer: Program): Promise<Omit<Run, 'limitSeconds'>> => {
      const until = (last: number | null): Promise<unknown> =>
        untilPosition(
          db,
          indexer,
          `filecoin:${NETWORK_ID}`,
          ({ number }) => last === null || number === last,
          LOOK_EVERY_MS,
        )
      await until(null)
      const startCpu = await cpuSeconds(indexer.pid)
      const seconds = await secondsOf(() => until(tipsets + NOT_FINAL - 1))
      const run = {
        seconds,
        indexerCpu: (await cpuSeconds(indexer.pid)) - startCpu,
        postgresCpu: (await postgres.cpuSeconds()) - postgresBefore,
        peakMiB: memoryOf(indexer.pid).peakMiB,
      }
      await compareWithLives(db, actions)
      return run
    }
    const run = await withIndexerOf(databases, { filecoin: [network] }, measure)
    return { ...run, limitSeconds: await secondsOf(() => fetchAndParse(url, tipsets, messages)) }
  })
}

function figuresOf(
  { messages, tipsets }: LotusShape,
  { actions }: ChannelLives,
  runs: readonly Run[],
): Figures {
  const of = (pick: (run: Run) => number): Spread => spreadOf(runs.map(pick))
  const backfill = of(({ seconds }) => tipsets / seconds)
  const limit = of(({ limitSeconds }) => tipsets / limitSeconds)
  return {
    ...{ messages, tipsets, events: actions.length, backfill, limit, ratio: backfill.median / limit.median },
    indexerCpu: of(({ indexerCpu }) => indexerCpu),
    postgresCpu: of(({ postgresCpu }) => postgresCpu),
    peakMiB: of(({ peakMiB }) => peakMiB),
  }
}

function tell(
  { queue, runs, json }: LotusOptions,
  { postgres: { settings } }: BenchServices,
  chains: Figures[],
): void {
  const rows = chains.map((chain) => {
    const { messages, tipsets, events, backfill, limit, ratio, indexerCpu, postgresCpu, peakMiB } = chain
    const cpu = `${indexerCpu.median.toFixed(1)}, ${postgresCpu.median.toFixed(1)}`
    const rates = `${spreadText(backfill, 0)} | ${spreadText(limit, 0)} | ${ratio.toFixed(2)}`
    return `| ${messages} | ${tipsets} | ${events} | ${rates} | ${cpu} | ${spreadText(peakMiB, 0)} |`
  })
  printFigures(
    json,
    { postgres: settings, queue },
    { runs, chains },
    `Backfill of a Filecoin network, everything on (as the truth, entry by entry); median of ${runs} (spread)

| messages per tipset | tipsets | events of channels | tipsets/s | fetch and parse only, tipsets/s | backfill / that | processor s: indexer, Postgres | peak MiB |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}`,
  )
}

/** Requests and parses the same answers as fast as possible, and discards them. */
async function fetchAndParse(url: string, tipsets: number, messages: number): Promise<void> {
  const perRequest = Math.min(TIPSETS_PER_REQUEST, Math.ceil(MOST_MESSAGES_ASKED / Math.max(1, messages)))
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < tipsets) {
      const from = next
      next += perRequest
      const heights = Array.from({ length: perRequest }, (_, index) => from + index)
      const found = await ask(
        url,
        heights.map((height) => ({ method: 'ChainGetTipSetByHeight', params: [height, []] })),
      )
      await ask(
        url,
        found.flatMap(({ result }) =>
          ['ChainGetParentMessages', 'ChainGetParentReceipts'].map((method) => ({
            method,
            params: [result.Cids[0]],
          })),
        ),
      )
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
}

type Answer = { result: { Cids: unknown[] } }

async function ask(url: string, calls: { method: string; params: unknown[] }[]): Promise<Answer[]> {
  const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call, method: `Filecoin.${call.method}` }))
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  return JSON.parse(await response.text()) as Answer[]
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return (performance.now() - startedMs) / 1000
}
