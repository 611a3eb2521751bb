import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import type { Random } from '../../devnet/evm/random.ts'
import { historyAnswer } from '../../api/schemas/activity.ts'
import { activityRecord } from '../../api/schemas/activity.ts'
import type { Observation } from './check-history.ts'

const loanAnswer = z.object({ payload: z.object({ loanEvents: z.array(activityRecord) }) })

/** The readers' notes: their observations, and the times of the answers. */
export interface Diary {
  observations: Observation[]
  /** Requests that the API never answered because it was killed. */
  cutOff: number
  milliseconds: number[]
}

const LOANS = 25
const PAUSE_MS = 150

/** Pages through the history and looks up loans until the signal, one request at a time; keeps the answers. */
export async function read(
  apiUrl: string,
  reader: number,
  { random, diary, signal }: { random: Random; diary: Diary; signal: AbortSignal },
): Promise<void> {
  let page = 1
  while (!signal.aborted) {
    if (random.chance(0.3)) {
      await lookUp(apiUrl, reader, random, diary)
    } else {
      const pages = await readPage(apiUrl, reader, page, diary)
      page = page < pages && random.chance(0.9) ? page + 1 : 1
    }
    await sleep(random.int(0, PAUSE_MS))
  }
}

/** Returns the number of pages; 0 when it could not be read. */
async function readPage(apiUrl: string, reader: number, page: number, diary: Diary): Promise<number> {
  const answer = await get(apiUrl, `/api/activity/history/${page}`, reader, diary)
  if (answer?.status !== 200) return 0
  const { payload, pages } = historyAnswer.parse(JSON.parse(answer.body))
  diary.observations.push({ kind: 'page', reader, at: answer.at, page, pages, records: payload })
  return pages
}

async function lookUp(apiUrl: string, reader: number, random: Random, diary: Diary): Promise<void> {
  const [market, loanType] = random.pick([
    ['ERC20', 'ERC20FIL'],
    ['FIL', 'FILERC20'],
  ] as const)
  const loanId = String(random.int(1, LOANS))
  const answer = await get(apiUrl, `/api/loan/${market}/${loanId}`, reader, diary)
  if (answer === undefined) return
  const { at } = answer
  if (answer.status === 404) diary.observations.push({ kind: 'missing loan', reader, at, loanType, loanId })
  if (answer.status !== 200) return
  const { payload } = loanAnswer.parse(JSON.parse(answer.body))
  diary.observations.push({ kind: 'loan', reader, at, loanType, loanId, events: payload.loanEvents })
}

interface Got {
  status: number
  body: string
  at: { from: number; to: number }
}

/** Undefined when the API was down, or went down during the answer. */
async function get(apiUrl: string, path: string, reader: number, diary: Diary): Promise<Got | undefined> {
  const from = Date.now()
  try {
    const response = await fetch(`${apiUrl}${path}`, { signal: AbortSignal.timeout(20_000) })
    const got: Got = { status: response.status, body: await response.text(), at: { from, to: Date.now() } }
    diary.milliseconds.push(got.at.to - from)
    if (![200, 404].includes(got.status)) {
      const { status, body, at } = got
      diary.observations.push({ kind: 'failure', reader, at, url: path, status, body })
    }
    return got
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      const at = { from, to: Date.now() }
      const body = 'no answer within 20 s'
      diary.observations.push({ kind: 'failure', reader, at, url: path, status: 0, body })
    }
    diary.cutOff += 1
    await sleep(100)
    return undefined
  }
}
