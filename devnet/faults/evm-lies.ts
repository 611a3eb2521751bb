import {
  isJson,
  lyingAnswers,
  Refusal,
  sometimes,
  type Fault,
  type FaultKinds,
  type Json,
  type Request,
  type Upstream,
} from './fault.ts'

import { proofLies } from './proof-lies.ts'

/** False but well-formed answers of an EVM node. */

const hexOf = (number: number): string => `0x${number.toString(16)}`
const numberOf = (value: unknown): number => Number(isJson(value) ? value['number'] : value)
const randomHash = (below: (n: number) => number): string =>
  `0x${Array.from({ length: 64 }, () => below(16).toString(16)).join('')}`

const blockMethods = ['eth_getBlockByNumber', 'eth_getBlockByHash'] as const
const transactionMethods = ['eth_getTransactionByHash', 'eth_getTransactionByBlockHashAndIndex'] as const

const tellingOfBlocks = [
  ...blockMethods,
  ...['eth_blockNumber', 'eth_getLogs', 'eth_call'],
  ...transactionMethods,
]

/** Answers from the node's state some blocks ago; newer blocks are unknown. */
export function asOfBlocksAgo(blocks: number): Fault {
  return lyingAnswers(tellingOfBlocks, async (result, request, upstream) => {
    const limit = numberOf(await upstream.ask('eth_blockNumber')) - blocks
    return limit < 0 ? undefined : asOf(limit, result, request, upstream)
  })
}

/** Answers as if the node had stopped at these latest and finalized blocks. */
export function stoppedAt(latest: number, finalized: number): Fault {
  return lyingAnswers(tellingOfBlocks, (result, request, upstream) => {
    const [tag, full] = request.params
    if (request.method === 'eth_getBlockByNumber' && tag === 'finalized')
      return upstream.ask(request.method, hexOf(finalized), full)
    return asOf(latest, result, request, upstream)
  })
}

async function asOf(limit: number, result: unknown, request: Request, upstream: Upstream): Promise<unknown> {
  const [first, second] = request.params
  switch (request.method) {
    case 'eth_blockNumber':
      return hexOf(limit)
    case 'eth_getBlockByNumber':
      if (first === 'latest') return upstream.ask(request.method, hexOf(limit), second)
      return numberOf(result) > limit ? null : undefined
    case 'eth_getBlockByHash':
      return numberOf(result) > limit ? null : undefined
    case 'eth_getLogs':
      return Array.isArray(result)
        ? unlessSame(
            result,
            result.filter((log) => isJson(log) && Number(log['blockNumber']) <= limit),
          )
        : undefined
    case 'eth_getTransactionByHash':
    case 'eth_getTransactionByBlockHashAndIndex':
      return isJson(result) && Number(result['blockNumber']) > limit ? null : undefined
    default:
      return isJson(second) && (await isAbove(limit, second['blockHash'], upstream))
        ? new Refusal(-32000, 'header not found')
        : undefined
  }
}

async function isAbove(limit: number, hash: unknown, upstream: Upstream): Promise<boolean> {
  const block = await upstream.ask('eth_getBlockByHash', hash, false)
  return numberOf(block) > limit
}

function unlessSame(before: unknown[], after: unknown[]): unknown[] | undefined {
  return before.length === after.length ? undefined : after
}

type Log = Json
type ChangeLogs = (logs: Log[], filter: Json) => Log[]

function changedLogs(change: ChangeLogs): Fault {
  return lyingAnswers(['eth_getLogs'], (result, { params: [filter] }) => {
    if (!Array.isArray(result) || result.length === 0) return undefined
    const logs = change(result as Log[], isJson(filter) ? filter : {})
    return logs === result ? undefined : logs
  })
}

/** True when these logs set every bloom bit of the removed log. */
function isCovered(log: Log | undefined, others: readonly Log[]): boolean {
  const itemsOf = ({ address, topics }: Log): unknown[] =>
    Array.isArray(topics) ? [address, ...(topics as unknown[])] : [address]
  const items = new Set(others.flatMap(itemsOf))
  return log !== undefined && itemsOf(log).every((item) => items.has(item))
}

const logLies: FaultKinds = {
  'the logs of one block missing': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      sometimes(
        0.3,
        changedLogs((logs) => {
          const gone = logs[below(logs.length)]?.['blockHash']
          return logs.filter(({ blockHash }) => blockHash !== gone)
        }),
      )({ now, below }),
  },
  'one log of a block missing': {
    seenBy: 'visible',
    make: ({ now, below }) => {
      const inBlock = changedLogs((logs, filter) => {
        if (filter['blockHash'] === undefined || logs.length < 2) return logs
        const gone = below(logs.length)
        const rest = logs.filter((_, at) => at !== gone)
        return gone === rest.length && isCovered(logs[gone], rest) ? logs : rest
      })
      const inReceipts = proofLies['a log left out of a receipt']?.make({ now: () => true, below })
      const inEither: Fault = async (...asked) =>
        (await inBlock(...asked)) ?? (await inReceipts?.(...asked)) ?? null
      return sometimes(0.3, inEither)({ now, below })
    },
  },
  'the last log of a block missing, whose bits others set': {
    // Neither the bloom nor the log indexes reveal it if receipts are refused.
    seenBy: 'hidden',
    make: sometimes(
      0.3,
      changedLogs((logs, filter) => {
        const rest = logs.slice(0, -1)
        return filter['blockHash'] !== undefined && isCovered(logs.at(-1), rest) ? rest : logs
      }),
    ),
  },
  'one log of a range missing': {
    seenBy: 'witness',
    make: ({ now, below }) =>
      sometimes(
        0.3,
        changedLogs((logs, filter) => {
          if (filter['blockHash'] !== undefined) return logs
          const gone = below(logs.length)
          return logs.filter((_, at) => at !== gone)
        }),
      )({ now, below }),
  },
  'no logs at all': {
    seenBy: 'visible',
    make: sometimes(
      0.1,
      changedLogs(() => []),
    ),
  },
  'a log twice': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => [...logs, ...logs.slice(0, 1)]),
    ),
  },
  'logs in another order': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => (logs.length < 2 ? logs : [...logs].reverse())),
    ),
  },
  'a log of another contract': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => [
        ...logs,
        ...logs.slice(0, 1).map((log) => ({ ...log, address: `0x${'77'.repeat(20)}`, logIndex: '0xffff' })),
      ]),
    ),
  },
  'a removed log': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => logs.map((log) => ({ ...log, removed: true }))),
    ),
  },
  'logs of another branch': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      sometimes(
        0.3,
        changedLogs((logs) => {
          const blockHash = randomHash(below)
          return logs.map((log) => ({ ...log, blockHash }))
        }),
      )({ now, below }),
  },
  'logs of another time': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => logs.map((log) => ({ ...log, blockTimestamp: '0x1' }))),
    ),
  },
  'malformed fields': {
    seenBy: 'visible',
    make: sometimes(
      0.3,
      changedLogs((logs) => logs.map((log) => ({ ...log, data: '0xzz' }))),
    ),
  },
}

/** Changes the node's newest or final block. */
function ofTag(tag: 'latest' | 'finalized', say: (block: Json, upstream: Upstream) => unknown): Fault {
  return lyingAnswers(['eth_getBlockByNumber'], (result, { params: [asked] }, upstream) =>
    asked === tag && isJson(result) ? say(result, upstream) : undefined,
  )
}

const blockLies: FaultKinds = {
  'a replica that is behind': {
    seenBy: 'visible',
    make: ({ now, below }) => {
      const lag = 1 + below(12)
      return sometimes(0.3, asOfBlocksAgo(lag))({ now, below })
    },
  },
  'a head behind what is final': { seenBy: 'visible', make: sometimes(0.1, asOfBlocksAgo(90)) },
  'blocks that are not there': {
    seenBy: 'visible',
    make: ({ now }) =>
      lyingAnswers([...blockMethods], (result) => (result !== null && now(0.01) ? null : undefined)),
  },
  'a block with another parent': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingAnswers([...blockMethods], (result) =>
        isJson(result) && now(0.03) ? { ...result, parentHash: randomHash(below) } : undefined,
      ),
  },
  'a block with another hash': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingAnswers([...blockMethods], (result) =>
        isJson(result) && now(0.03) ? { ...result, hash: randomHash(below) } : undefined,
      ),
  },
  'a block with another bloom': {
    seenBy: 'visible',
    make: ({ now }) =>
      lyingAnswers([...blockMethods], (result) =>
        isJson(result) && now(0.05) ? { ...result, logsBloom: `0x${'ff'.repeat(256)}` } : undefined,
      ),
  },
  'a block that looks empty': {
    seenBy: 'visible',
    make: ({ now }) =>
      lyingAnswers([...blockMethods], (result) =>
        isJson(result) && now(0.05)
          ? { ...result, logsBloom: `0x${'00'.repeat(256)}`, transactions: [] }
          : undefined,
      ),
  },
  'a block of another time': {
    seenBy: 'visible',
    make: ({ now }) =>
      lyingAnswers([...blockMethods], (result) =>
        isJson(result) && now(0.05)
          ? { ...result, timestamp: hexOf(Number(result['timestamp']) + 5) }
          : undefined,
      ),
  },
  'a final block of another branch': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      sometimes(
        0.2,
        ofTag('finalized', (block) => ({ ...block, hash: randomHash(below) })),
      )({ now, below }),
  },
  'a final block that moves back': {
    seenBy: 'visible',
    make: sometimes(
      0.2,
      ofTag('finalized', (block, upstream) =>
        upstream.ask('eth_getBlockByNumber', hexOf(Math.max(0, numberOf(block) - 7)), false),
      ),
    ),
  },
  'the head is called final': {
    seenBy: 'hidden',
    make: sometimes(
      0.05,
      ofTag('finalized', (_, upstream) => upstream.ask('eth_getBlockByNumber', 'latest', false)),
    ),
  },
  'another chain id': {
    seenBy: 'witness',
    make: sometimes(
      0.02,
      lyingAnswers(['eth_chainId'], () => '0x1'),
    ),
  },
  'no code at the contracts': {
    seenBy: 'witness',
    make: sometimes(
      0.2,
      lyingAnswers(['eth_getCode'], () => '0x'),
    ),
  },
  'another transaction': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingAnswers([...transactionMethods], (result) =>
        isJson(result) && now(0.1) ? { ...result, hash: randomHash(below) } : undefined,
      ),
  },
  'a state that is not there': {
    seenBy: 'visible',
    make: ({ now }) =>
      lyingAnswers(['eth_call'], () =>
        now(0.05) ? new Refusal(-32000, 'header for hash not found') : undefined,
      ),
  },
}

export const evmLies: FaultKinds = { ...logLies, ...blockLies, ...proofLies }
