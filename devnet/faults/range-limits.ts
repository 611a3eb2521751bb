import { isJson, type FaultKinds, type Request } from './fault.ts'

/** How providers refuse a range of `eth_getLogs`: the code, and their own words. Codes say little: -32005 is a quota too. */
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
}

/** Blocks that each of them allows here. */
const LIMIT = 5

function isWide({ method, params: [filter] }: Request): boolean {
  if (method !== 'eth_getLogs' || !isJson(filter)) return false
  const { fromBlock, toBlock } = filter
  return Number(toBlock ?? 0) - Number(fromBlock ?? 0) >= LIMIT
}

/** Of all of them in turn. */
export const rangeLimits: FaultKinds = {
  'a range limit of 5 blocks': {
    seenBy: 'visible',
    make: () => {
      const providers = Object.values(PROVIDERS)
      let turn = 0
      return async (requests, truth) => {
        const wide = new Set(requests.filter(isWide).map(({ id }) => id))
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

/** A range that is too wide is not even refused. */
export const hangingRanges: FaultKinds = {
  'wide ranges hang': {
    ...{ seenBy: 'visible', isSlow: true },
    make: () => (requests) => (requests.some(isWide) ? 'hang' : null),
  },
}
