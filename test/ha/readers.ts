import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'

export interface ReadCounts {
  reads: number
  /** Answers other than 200, and requests without one. */
  failed: number
  /** Answers that were older than one which the same client had before. */
  wentBack: number
  /** Answers that told the client to ask again, for this replica does not have what it saw before. */
  toldToWait: number
  slowestMs: number
  /** The answers of the first failed reads. */
  failures: string[]
}

const PATHS = ['/api/activity?limit=5', '/api/activity/history', '/api/loan/ERC20/1']
const recordsSchema = z.object({ payload: z.array(z.object({ id: z.number() })) })
const PAUSE_MS = 20
const SHOWN = 5

/** Clients that read history and loans all the time, one request after the other, until the signal. */
export function startReaders(
  url: string,
  clients: number,
  signal: AbortSignal,
): { counts: ReadCounts; done: Promise<void> } {
  const counts: ReadCounts = { reads: 0, failed: 0, wentBack: 0, toldToWait: 0, slowestMs: 0, failures: [] }
  const all = Array.from({ length: clients }, () => readOn(url, counts, signal))
  return { counts, done: Promise.all(all).then(() => undefined) }
}

async function readOn(url: string, counts: ReadCounts, signal: AbortSignal): Promise<void> {
  const seen = { id: 0, position: 0 }
  for (let turn = 0; !signal.aborted; turn += 1) {
    const path = PATHS[turn % PATHS.length] ?? ''
    const askedMs = performance.now()
    try {
      const answer = await fetch(url + path, { headers: { 'X-Min-Position': `${seen.position}` } })
      const body: unknown = await answer.json()
      counts.reads += 1
      if (answer.status === 503 && /"position/.test(JSON.stringify(body))) counts.toldToWait += 1
      else if (answer.status !== 200) fail(counts, `${path}: ${answer.status} ${JSON.stringify(body)}`)
      else look(body, Number(answer.headers.get('x-position')), seen, counts)
    } catch (error) {
      counts.reads += 1
      fail(counts, `${path}: ${String(error)}`)
    }
    counts.slowestMs = Math.max(counts.slowestMs, performance.now() - askedMs)
    await sleep(PAUSE_MS)
  }
}

function fail(counts: ReadCounts, what: string): void {
  counts.failed += 1
  if (counts.failures.length < SHOWN) counts.failures.push(what)
}

/** The newest record's id and the position of an answer must not be below those that this client saw before. */
function look(
  body: unknown,
  position: number,
  seen: { id: number; position: number },
  counts: ReadCounts,
): void {
  const records = recordsSchema.safeParse(body)
  const id = records.success ? (records.data.payload[0]?.id ?? 0) : seen.id
  if (id < seen.id || position < seen.position) counts.wentBack += 1
  seen.id = Math.max(seen.id, id)
  seen.position = Math.max(seen.position, position)
}
