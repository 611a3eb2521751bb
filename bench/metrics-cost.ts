import { freePort } from '../test/helpers/free-port.ts'
import { seedRecords } from '../test/helpers/seed-projection.ts'
import { pagesPerSecond } from './api-load.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { buildPrograms, prepareIndexer, untilWritten, withApi } from './programs.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type Databases } from './services.ts'
import { scaledShape, SyntheticChain, type ChainShape } from './synthetic-evm/synthetic-chain.ts'
import { startNode, syntheticNetwork } from './synthetic-evm/synthetic-node.ts'

export interface MetricsCostOptions {
  records: number
  seconds: number
  events: number
  runs: number
  json: boolean
}

const SCRAPED_EVERY_MS = 1_000

/** Requests a second of the API and events a second of a backfill, without and with a scrape every second, in turns. */
export async function benchMetricsCost(options: MetricsCostOptions): Promise<void> {
  buildPrograms()
  const shape = scaledShape('dense', options.events)
  const node = await startNode({ shape })
  try {
    await withServices('postgres', async ({ postgres, withDatabases }) => {
      const api = await withDatabases(async (databases) => {
        await seedRecords(databases.db, options.records)
        return inTurns(options.runs, (isScraped) => requestsPerSecond(databases, options, isScraped))
      })
      const backfill = await inTurns(options.runs, (isScraped) =>
        withDatabases((databases) => eventsPerSecond(databases, node.url, shape, isScraped)),
      )
      printFigures(
        options.json,
        { postgres: postgres.settings },
        { ...options, api, backfill },
        markdownOf(api, backfill),
      )
    })
  } finally {
    node.stop()
  }
}

interface Compared {
  without: Spread
  scraped: Spread
  /** Scraped to without, by medians. */
  ratio: number
}

async function inTurns(runs: number, measure: (isScraped: boolean) => Promise<number>): Promise<Compared> {
  const pairs = await runsAfterWarmUp(runs, async () => ({
    without: await measure(false),
    scraped: await measure(true),
  }))
  const [without, scraped] = [
    spreadOf(pairs.map((pair) => pair.without)),
    spreadOf(pairs.map((pair) => pair.scraped)),
  ]
  return { without, scraped, ratio: scraped.median / without.median }
}

/** The API measures nothing without a port for its metrics. */
async function requestsPerSecond(
  databases: Databases,
  { records, seconds }: MetricsCostOptions,
  isScraped: boolean,
): Promise<number> {
  const metricsPort = await freePort()
  const settings = { API_RATE_LIMIT: 'off', ...(isScraped && { API_METRICS_PORT: `${metricsPort}` }) }
  return withApi(
    databases,
    async (url) => {
      const stop = isScraped ? scrape(`http://127.0.0.1:${metricsPort}`) : () => undefined
      const rate = await pagesPerSecond(url, records, seconds)
      stop()
      return rate
    },
    settings,
  )
}

async function eventsPerSecond(
  databases: Databases,
  nodeUrl: string,
  shape: ChainShape,
  isScraped: boolean,
): Promise<number> {
  const network = syntheticNetwork(nodeUrl, new SyntheticChain(shape).parties)
  const { start, remove, url } = await prepareIndexer(databases, network)
  const indexer = start()
  const stop = isScraped ? scrape(url) : () => undefined
  try {
    await untilWritten(databases.db, indexer, () => true)
    const beganMs = performance.now()
    await untilWritten(databases.db, indexer, ({ number }) => number === shape.blocks, 50)
    return (shape.events / (performance.now() - beganMs)) * 1000
  } finally {
    stop()
    await indexer.stop()
    await remove()
  }
}

/** Reads a program's metrics every second until it is stopped. A program that is starting does not answer yet. */
function scrape(url: string): () => void {
  const read = async (): Promise<void> => {
    await (await fetch(`${url}/metrics`)).text()
  }
  const timer = setInterval(() => void read().catch(() => undefined), SCRAPED_EVERY_MS)
  return () => clearInterval(timer)
}

function markdownOf(api: Compared, backfill: Compared): string {
  const row = (what: string, { without, scraped, ratio }: Compared): string =>
    `| ${what} | ${spreadText(without, 0)} | ${spreadText(scraped, 0)} | ${ratio.toFixed(3)} |`
  return `| | without | scraped every second | ratio |
|---|---|---|---|
${row('API, requests/s (without: no API_METRICS_PORT)', api)}
${row('backfill, events/s', backfill)}`
}
