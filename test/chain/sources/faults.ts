import { seededRandom } from '../../helpers/random-chain.ts'
import type { Fault, Proxy, Request } from './faulty-proxy.ts'

/** Everything that endpoints were seen to do. */

/** Chance of one proxy: seeded by its fault's name, and every fault happens at least once. */
export interface Chance {
  now: (probability: number) => boolean
  below: (n: number) => number
}
export type MakeFault = (chance: Chance) => Fault

export function chanceOf(seed: number, name: string, proxy: Proxy): Chance {
  const { chance, below } = seededRandom(seed + name.length * 7919 + name.charCodeAt(0))
  const due = (): boolean => proxy.faults === 0 && proxy.requests > 8
  return { now: (probability) => chance(probability) || due(), below }
}

interface Filter {
  fromBlock?: string
  toBlock?: string
  blockHash?: string
}
interface Log {
  blockHash: string
}

const filterOf = ({ params }: Request): Filter => params[0] as Filter
const isWide = (request: Request, width: number): boolean =>
  request.method === 'eth_getLogs' &&
  Number(filterOf(request).toBlock ?? 0) - Number(filterOf(request).fromBlock ?? 0) >= width
const json = (body: unknown): string => JSON.stringify(body)
const refusal = (id: number | null | undefined, code: number, message: string): string =>
  json({ jsonrpc: '2.0', id, error: { code, message } })

/** Changes the answers to `eth_getLogs`. */
export function logsChanged(
  probability: number,
  change: (logs: Log[], filter: Filter, below: Chance['below']) => unknown,
): MakeFault {
  return ({ now, below }) =>
    async (requests, truth) => {
      if (!requests.some(({ method }) => method === 'eth_getLogs') || !now(probability)) return null
      return (await truth()).map((answer) => {
        const request = requests.find(({ id }) => id === answer.id)
        if (request?.method !== 'eth_getLogs' || !Array.isArray(answer.result)) return answer
        return { ...answer, result: change(answer.result as Log[], filterOf(request), below) }
      })
    }
}

function batchLimit(limit: number): MakeFault {
  return () => (requests, _, isBatch) =>
    isBatch && requests.length > limit
      ? { status: 400, body: refusal(null, -32600, 'the batch is too large') }
      : null
}

/** Some blocks seem not to exist yet, and logs of unknown blocks are empty: as lagging replicas have it. */
const lagging: MakeFault =
  ({ now }) =>
  async (requests, truth) => {
    if (!now(0.4)) return null
    const behind = new Set(
      requests
        .filter((request) =>
          request.method === 'eth_getLogs'
            ? now(0.5)
            : request.method === 'eth_getBlockByNumber' && request.params[0] !== 'latest' && now(0.02),
        )
        .map(({ id }) => id),
    )
    return (await truth()).map((answer) =>
      behind.has(answer.id) ? { ...answer, result: Array.isArray(answer.result) ? [] : null } : answer,
    )
  }

/** Each of these may take a whole time-out. */
export const SLOW_FAULTS: Record<string, MakeFault> = {
  'time-outs':
    ({ now }) =>
    () =>
      now(0.02) ? 'hang' : null,
  'wide ranges hang': () => (requests) => (requests.some((request) => isWide(request, 10)) ? 'hang' : null),
}

export const FAULTS: Record<string, MakeFault> = {
  '429 with Retry-After':
    ({ now }) =>
    () =>
      now(0.05) ? { status: 429, headers: { 'retry-after': '0.05' }, body: 'slow down' } : null,
  'a quota told as a JSON-RPC error':
    ({ now }) =>
    (requests) =>
      now(0.05)
        ? { body: refusal(requests[0]?.id, -32005, 'daily request count exceeded, rate limited') }
        : null,
  'a range limit of 5 blocks': () => async (requests, truth) =>
    requests.some((request) => isWide(request, 5))
      ? (await truth()).map(({ id }) => ({
          id,
          error: { code: -32005, message: 'query returned more than 10000 results' },
        }))
      : null,
  'truncated JSON':
    ({ now }) =>
    async (_, truth) =>
      now(0.05) ? { body: json(await truth()).slice(0, -20) } : null,
  'HTML of a gateway':
    ({ now }) =>
    () =>
      now(0.05) ? { status: 502, body: '<html>bad gateway</html>' } : null,
  'HTML as if all were well':
    ({ now }) =>
    () =>
      now(0.05) ? { body: '<html>please log in</html>' } : null,
  'the answers of another request':
    ({ now }) =>
    async (_, truth) =>
      now(0.05) ? (await truth()).map((answer) => ({ ...answer, id: answer.id + 1_000_000 })) : null,
  'half a batch':
    ({ now }) =>
    async (_, truth, isBatch) =>
      isBatch && now(0.1) ? (await truth()).slice(1) : null,
  'answers in another order': () => async (_, truth) => (await truth()).reverse(),
  'no batches at all': batchLimit(1),
  'batches of ten': batchLimit(10),
  'a replica that is behind': lagging,
  'the logs of one block missing': logsChanged(0.3, (logs, _, below) => {
    const gone = logs[below(logs.length)]?.blockHash
    return logs.filter(({ blockHash }) => blockHash !== gone)
  }),
  'the first log of a block missing': logsChanged(0.3, (logs, { blockHash }) =>
    blockHash === undefined || logs.length < 2 ? logs : logs.slice(1),
  ),
  'a log twice': logsChanged(0.3, (logs) => [...logs, ...logs.slice(0, 1)]),
  'a log of another contract': logsChanged(0.3, (logs) => [
    ...logs,
    ...logs.slice(0, 1).map((log) => ({ ...log, address: `0x${'77'.repeat(20)}`, logIndex: '0xffff' })),
  ]),
  'a removed log': logsChanged(0.3, (logs) => logs.map((log) => ({ ...log, removed: true }))),
  'malformed fields': logsChanged(0.3, (logs) => logs.map((log) => ({ ...log, data: '0xzz' }))),
}

/** All of them, taking turns. */
export const everyFault: MakeFault = (chance) => {
  const faults = Object.values(FAULTS).map((make) => make({ ...chance, now: () => true }))
  return async (requests, truth, isBatch) => {
    if (!chance.now(0.15)) return null
    return (await faults[chance.below(faults.length)]?.(requests, truth, isBatch)) ?? null
  }
}
