import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import type { ChainEvent } from '../shared/events/chain-event.ts'
import { monotonicMs } from './measure.ts'
import { recordText } from './synthetic-evm/truth.ts'

/** Pause after each answer, which leaves the processors to the watched programs. */
const PAUSE_MS = 2
const WITHIN_MS = 60_000
const PAGE_SIZE = 25

const pageSchema = z.object({
  payload: z.array(
    z.object({ txHash: z.string(), event: z.string(), loanType: z.string(), loanId: z.string() }),
  ),
  pages: z.number(),
})

/** A page of the history as text; equal texts mean equal content. */
export type PageText = string

/** Returns the text of page `number` for a history given in the order of its records. */
export function pageOf(history: readonly ChainEvent[], number = 1): PageText {
  const end = history.length - (number - 1) * PAGE_SIZE
  const records = history.slice(Math.max(0, end - PAGE_SIZE), end).toReversed()
  return [...records.map(recordText), Math.ceil(history.length / PAGE_SIZE)].join('\n')
}

/** Throws unless every page of the history is right. */
export async function requireHistory(apiUrl: string, history: readonly ChainEvent[]): Promise<void> {
  for (let number = 1; number <= Math.ceil(history.length / PAGE_SIZE); number += 1) {
    const url = `${apiUrl}/api/activity/history/${number}`
    const body = await (await fetch(url)).text()
    if (readPage(body) !== pageOf(history, number)) throw new Error(`${url} is not the truth: no figure`)
  }
}

function readPage(body: string): PageText {
  const { payload, pages } = pageSchema.parse(JSON.parse(body))
  const records = payload.map((record) =>
    [record.txHash, record.event, record.loanType, record.loanId].join(' '),
  )
  return [...records, pages].join('\n')
}

/** Polls page 1 of the history over one connection; an unchanged page is a 304. */
export class HistoryWatch {
  /** Milliseconds from one request to the next answer, which bound how late a change is seen. */
  readonly apartMs: number[] = []
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #etag = ''
  #page: PageText = ''

  constructor(apiUrl: string) {
    this.#url = `${apiUrl}/api/activity/history`
  }

  /** Polls until page 1 changes; resolves with it and with its time. Throws after a minute. */
  async untilOther(known: PageText): Promise<{ page: PageText; atMs: number }> {
    const firstMs = monotonicMs()
    for (let lastMs = firstMs; lastMs < firstMs + WITHIN_MS;) {
      const askedMs = monotonicMs()
      const page = await this.look()
      const atMs = monotonicMs()
      this.apartMs.push(atMs - lastMs)
      if (page !== known) return { page, atMs }
      lastMs = askedMs
      await delay(PAUSE_MS)
    }
    throw new Error(`the history did not change within ${WITHIN_MS} ms`)
  }

  async look(): Promise<PageText> {
    const { status, etag, body } = await this.#ask()
    if (status === 304) return this.#page
    if (status !== 200) throw new Error(`${this.#url} answered ${status}`)
    this.#etag = etag
    this.#page = readPage(body)
    return this.#page
  }

  close(): void {
    this.#agent.destroy()
  }

  #ask(): Promise<{ status: number; etag: string; body: string }> {
    return new Promise((resolve, reject) => {
      const asked = request(
        this.#url,
        { agent: this.#agent, headers: { 'if-none-match': this.#etag } },
        (response) => {
          let body = ''
          response.setEncoding('utf8')
          response.on('data', (part: string) => (body += part))
          response.on('error', reject)
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, etag: response.headers.etag ?? '', body }),
          )
        },
      )
      asked.setTimeout(WITHIN_MS, () => asked.destroy(new Error(`${this.#url} does not answer`)))
      asked.on('error', reject)
      asked.end()
    })
  }
}
