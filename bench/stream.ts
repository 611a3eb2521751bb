import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { raiseEpoch } from '../indexer/event-log/chain-position.ts'
import { ingestStep } from '../indexer/ingest/ingest-step.ts'
import type { Db } from '../shared/db/connect.ts'
import { EVM } from '../test/helpers/ingest-ledger.ts'
import { memoryOf } from '../test/helpers/process-memory.ts'
import { RandomChain, seededRandom } from '../test/helpers/random-chain.ts'
import { monotonicMs, percentile } from './measure.ts'
import { buildPrograms, withApi } from './programs.ts'
import { printFigures } from './runs.ts'
import { withServices } from './services.ts'

export interface StreamOptions {
  streams: number
  /** Steps that are written while the streams are open. */
  steps: number
  json: boolean
}

/** Random time between two steps, so that they never fall in step with the API's timer. */
const GAP_MS = { least: 100, most: 300 }
/** Time in which an idle process gives back what opening the streams took. */
const SETTLE_MS = 3000
const OPENED_AT_ONCE = 50

/** Measures the API's memory with open streams, and the time from a commit until a stream has its last change. */
export async function benchStream(options: StreamOptions): Promise<void> {
  buildPrograms()
  await withServices('postgres', ({ postgres, withDatabases }) =>
    withDatabases((databases) =>
      withApi(
        databases,
        async (url, api) => {
          const write = await writerOf(databases.db)
          const withoutStreams = memoryOf(api.pid)
          const clients = await openAll(Number(new URL(url).port), options.streams)
          await delay(SETTLE_MS)
          const idle = memoryOf(api.pid)
          const ms = await measure(clients, write, options.steps)
          const { residentMiB, peakMiB } = memoryOf(api.pid)
          for (const { socket } of clients) socket.destroy()
          const times = { p50Ms: percentile(ms, 50), p99Ms: percentile(ms, 99), mostMs: percentile(ms, 100) }
          const memory = {
            ...{ withoutMiB: withoutStreams.residentMiB, idleMiB: idle.residentMiB },
            ...{ busyMiB: residentMiB, peakMiB },
          }
          const figures = { ...options, samples: ms.length, ...memory, ...times }
          printFigures(options.json, { postgres: postgres.settings }, figures, markdownOf(figures))
        },
        { API_RATE_LIMIT: 'off' },
      ),
    ),
  )
}

interface Step {
  head: number
  committedMs: number
}

interface Client {
  socket: Socket
  /** Called with each log position that the stream reaches. */
  onPosition: (position: number) => void
}

async function openAll(port: number, count: number): Promise<Client[]> {
  const clients: Client[] = []
  while (clients.length < count) {
    const some = Math.min(OPENED_AT_ONCE, count - clients.length)
    clients.push(...(await Promise.all(Array.from({ length: some }, () => openClient(port)))))
  }
  return clients
}

async function openClient(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  const client: Client = { socket, onPosition: () => undefined }
  await once(socket, 'connect')
  socket.write('GET /api/activity/stream HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const opened = once(socket, 'data')
  socket.setEncoding('latin1').on('data', (text: string) => {
    const [, position] = /^id: (\d+)$/m.exec(text.slice(Math.max(0, text.lastIndexOf('\nid: ')))) ?? []
    if (position !== undefined) client.onPosition(Number(position))
  })
  const [first] = (await opened) as [string]
  if (!first.startsWith('HTTP/1.1 200')) throw new Error(`no stream: ${first.slice(0, 100)}`)
  socket.once('close', () => {
    client.onPosition = () => undefined
  })
  return client
}

/** Returns a sample for each stream and step: milliseconds from the commit until its last change was there. */
async function measure(clients: Client[], write: () => Promise<number>, count: number): Promise<number[]> {
  const random = seededRandom(1)
  const steps: Step[] = []
  const samples: number[] = []
  const next = new Map(clients.map((client) => [client, 0]))
  for (const client of clients) {
    client.onPosition = (position) => {
      const nowMs = monotonicMs()
      let index = next.get(client) ?? 0
      for (let step = steps[index]; step !== undefined && step.head <= position; step = steps[index]) {
        samples.push(nowMs - step.committedMs)
        index += 1
      }
      next.set(client, index)
    }
  }
  while (steps.length < count) {
    const head = await write()
    steps.push({ head, committedMs: monotonicMs() })
    await delay(GAP_MS.least + random.below(GAP_MS.most - GAP_MS.least))
  }
  await delay(SETTLE_MS)
  const missing = clients.length * count - samples.length
  if (missing > 0) throw new Error(`${missing} of ${clients.length * count} events did not come: no figure`)
  return samples
}

/** Writes a step of one to three records each time, and returns the log's head. */
async function writerOf(db: Db): Promise<() => Promise<number>> {
  const chain = new RandomChain(1)
  const epoch = await raiseEpoch(db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  await ingestStep(db, EVM, epoch, chain.genesis())
  return async () => {
    let step = chain.grow(1)
    while (step.events.length === 0) {
      await ingestStep(db, EVM, epoch, step)
      step = chain.grow(1)
    }
    await ingestStep(db, EVM, epoch, step)
    const { last_position } = await db
      .selectFrom('ledger.log_head')
      .select('last_position')
      .executeTakeFirstOrThrow()
    return last_position
  }
}

interface Figures extends StreamOptions {
  withoutMiB: number
  idleMiB: number
  busyMiB: number
  peakMiB: number
  p50Ms: number
  p99Ms: number
  mostMs: number
}

function markdownOf({ streams, steps, withoutMiB, idleMiB, busyMiB, peakMiB, ...times }: Figures): string {
  const ms = [times.p50Ms, times.p99Ms, times.mostMs].map((value) => value.toFixed(0)).join(' | ')
  return `| streams | steps | MiB without | MiB idle | MiB busy | MiB peak | p50 ms | p99 ms | most ms |
|---|---|---|---|---|---|---|---|---|
| ${streams} | ${steps} | ${withoutMiB} | ${idleMiB} | ${busyMiB} | ${peakMiB} | ${ms} |`
}
