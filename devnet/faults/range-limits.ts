import { isJson, refusal, type Fault, type FaultKinds, type Request } from './fault.ts'

/** How providers refuse a range of `eth_getLogs`: code and message. Codes are ambiguous: -32005 also means a quota. */
export const PROVIDERS: Record<string, readonly [code: number, message: string]> = {
  Infura: [-32005, 'query returned more than 10000 results'],
  Alchemy: [
    -32602,
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.',
  ],
  QuickNode: [-32614, 'eth_getLogs is limited to a 10,000 range'],
  Ankr: [-32600, 'block range is too wide'],
  Cloudflare: [-32047, 'Max range: 800'],
  BlockPI: [-32602, 'eth_getLogs is limited to 1024 block range. Please check the parameter requirements'],
  Chainstack: [-32000, 'Block range limit exceeded'],
  dRPC: [35, 'ranges over 10000 blocks are not supported on freetier'],
  LlamaNodes: [-32000, 'range is too large, max is 1k blocks'],
  NodeReal: [-32005, 'exceed maximum block range: 5000'],
  Avalanche: [-32000, 'requested too many blocks from 0 to 16777216, maximum is set to 2048'],
  'go-ethereum': [-32000, 'query exceeds max results 20000, retry with the range 0x0-0x10'],
  'a time-out': [-32603, 'request timed out'],
  'a size limit': [-32008, 'response is too big'],
  thirdweb: [-32000, 'Maximum allowed number of requested blocks is 3500'],
  Besu: [-32005, 'Requested range exceeds maximum RPC range limit'],
  Nethermind: [-32005, 'Too many logs requested. Max logs per response is 20000.'],
  Erigon: [-32000, 'query block range exceeds server limit 1000'],
  'a Lotus gateway': [1, 'invalid epoch range: too large'],
  'a limit of unknown words': [-32005, 'Limit exceeded'],
  'other unknown words': [-32000, 'nope'],
}

/** Some providers refuse a range by status: without JSON, or with one of these errors. */
export const REFUSING_STATUSES = [400, 413, 429, 500, 503]

/** Refuses log requests of more than `limit` blocks, by an error, a status or both. */
export function rangeLimit(
  limit: number,
  { status = 200, error }: { status?: number; error?: readonly [code: number, message: string] },
): Fault {
  return (requests) => {
    const wide = requests.find((request) => isWide(request, limit))
    if (wide === undefined) return null
    return { status, body: error === undefined ? 'too much' : refusal(wide.id, ...error) }
  }
}

/** Blocks that each provider allows here. */
const LIMIT = 5

function isWide({ method, params: [filter] }: Request, limit = LIMIT): boolean {
  if (method !== 'eth_getLogs' || !isJson(filter)) return false
  const { fromBlock, toBlock } = filter
  return Number(toBlock ?? 0) - Number(fromBlock ?? 0) + 1 > limit
}

/** The providers' refusals take turns. */
export const rangeLimits: FaultKinds = {
  'a range limit of 5 blocks': {
    seenBy: 'visible',
    make: () => {
      const providers = Object.values(PROVIDERS)
      let turn = 0
      return async (requests, truth) => {
        const wide = new Set(requests.filter((request) => isWide(request)).map(({ id }) => id))
        const [code, message] = providers[turn % providers.length] ?? [0, '']
        if (wide.size === 0) return null
        turn += 1
        return (await truth()).map((answer) =>
          wide.has(answer.id) ? { id: answer.id, error: { code, message } } : answer,
        )
      }
    },
  },
}

/** A range that is too wide hangs instead of being refused. */
export const hangingRanges: FaultKinds = {
  'wide ranges hang': {
    ...{ seenBy: 'visible', isSlow: true },
    make: () => (requests) => (requests.some((request) => isWide(request)) ? 'hang' : null),
  },
}
