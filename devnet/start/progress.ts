import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { getJson } from './http-get.ts'
import type { Screen } from './screen.ts'

const statusSchema = z.object({
  payload: z.object({
    records: z.int(),
    networks: z.array(
      z.object({
        network: z.string(),
        state: z.string(),
        problem: z.string().nullable(),
        head: z.int().nullable(),
        indexed: z.int().nullable(),
        lagBlocks: z.int().nullable(),
      }),
    ),
  }),
})
export type Status = z.infer<typeof statusSchema>['payload']

const historySchema = z.object({ payload: z.array(z.object({ loanId: z.string(), loanType: z.string() })) })

const LIVE_MS = 1000
const PLAIN_MS = 10_000
const FIRST_RECORD_MS = 100
/** Milliseconds after which the addresses are shown anyway: a chain without a loan is no fault. */
const PATIENCE_MS = 20_000

/** Resolves with the path of a sample loan once the API answers with a record; null when none came in time. */
export async function firstRecord(apiUrl: string, signal: AbortSignal): Promise<string | null> {
  const until = Date.now() + PATIENCE_MS
  while (!signal.aborted && Date.now() < until) {
    const [record] = (await getJson(`${apiUrl}/api/activity/history/1`, historySchema))?.payload ?? []
    if (record !== undefined) {
      return `/api/loan/${record.loanType === 'ERC20FIL' ? 'ERC20' : 'FIL'}/${record.loanId}`
    }
    await sleep(FIRST_RECORD_MS, undefined, { signal }).catch(() => undefined)
  }
  return null
}

/** Shows records, speed and each network's place until `signal` aborts. */
export async function showProgress(apiUrl: string, screen: Screen, signal: AbortSignal): Promise<void> {
  let before: { records: number; atMs: number } | undefined
  const interval = screen.isTerminal ? LIVE_MS : PLAIN_MS
  // The indexer reports its state every second, so there is nothing to show before the first report.
  await sleep(LIVE_MS, undefined, { signal }).catch(() => undefined)
  while (!signal.aborted) {
    const status = (await getJson(`${apiUrl}/api/status`, statusSchema))?.payload
    const now = { records: status?.records ?? 0, atMs: Date.now() }
    const text =
      status === undefined ? 'the API does not answer' : progressLine(status, rate(before, now), screen.width)
    if (screen.isTerminal) screen.live(text)
    else screen.line(text)
    if (status !== undefined) before = now
    await sleep(interval, undefined, { signal }).catch(() => undefined)
  }
  screen.endLive()
}

type Count = { records: number; atMs: number }

function rate(before: Count | undefined, now: Count): number {
  if (before === undefined) return 0
  return Math.max(0, (now.records - before.records) / ((now.atMs - before.atMs) / 1000))
}

type NetworkStatus = Status['networks'][number]

/**
 * Formats the state in at most `width` characters, the most important first: records, speed, then each network. Details
 * are dropped before the line is cut.
 */
export function progressLine({ records, networks }: Status, perSecond: number, width = Infinity): string {
  const total = `${records} records · ${perSecond.toFixed(1)}/s`
  const forms = [withHeads, withLags, shortened].map((form) => [total, ...networks.map(form)].join(' · '))
  const fitting = forms.find((line) => line.length <= width) ?? [total, summaryOf(networks)].join(' · ')
  return fitting.length <= width ? fitting : `${fitting.slice(0, width - 1)}…`
}

function withHeads(status: NetworkStatus): string {
  const { network, head, indexed } = status
  return `${network} head ${head ?? '-'}, indexed ${indexed ?? '-'}, ${lagOf(status)}${troubleOf(status)}`
}

function withLags(status: NetworkStatus): string {
  return `${status.network} ${status.indexed ?? '-'}, ${lagOf(status)}${troubleOf(status)}`
}

function shortened(status: NetworkStatus): string {
  const trouble = status.state === 'following' ? '' : ` (${status.state})`
  return `${status.network} ${lagOf(status)}${trouble}`
}

function summaryOf(networks: Status['networks']): string {
  const troubled = networks.filter(({ state }) => state !== 'following').length
  const lags = networks.map(({ lagBlocks }) => lagBlocks ?? 0)
  return `${networks.length} networks, ${troubled} in trouble, largest lag ${Math.max(0, ...lags)}`
}

function lagOf({ lagBlocks }: NetworkStatus): string {
  return `lag ${lagBlocks ?? '-'}`
}

function troubleOf({ state, problem }: NetworkStatus): string {
  if (state === 'following') return ''
  return problem === null ? ` (${state})` : ` (${state}: ${problem})`
}
