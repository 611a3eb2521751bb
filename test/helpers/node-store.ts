import { classifyLotusError } from '../../indexer/sources/filecoin/classify-lotus-error.ts'
import type { LotusClient } from '../../indexer/sources/filecoin/lotus-client.ts'
import { RpcClient } from '../../indexer/sources/rpc/rpc-client.ts'
import { parseLotusJson } from '../../shared/filecoin/lotus-json.ts'

/** A client of a node whose voucher store has one channel, with this answer (JSON text) for its vouchers. */
export function nodeStoreClient(url: string, vouchers: string): LotusClient {
  const rpc = answeringClient(
    url,
    (method) => `"result":${method === 'PaychList' ? '["t2channel"]' : vouchers}`,
  )
  return {
    rpc,
    isLockedOut: () => false,
    facts: () => ({ genesisKey: 'first', genesisTimeS: 0, epochDurationS: 30 }),
  }
}

/** A client of a node that answers each call with this, from `"result":` or `"error":` on (JSON text). */
export function answeringClient(
  url: string,
  answer: (method: string, params: unknown[]) => string,
): RpcClient {
  const reply = (body: string): string => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] }
    return `{"jsonrpc":"2.0","id":${id},${answer(method.slice(method.indexOf('.') + 1), params)}}`
  }
  return new RpcClient([url], {
    ...{ maxConcurrent: 1, maxBatch: 3, timeoutMs: 1_000 },
    ...{ network: 'filecoin:testnet', identity: { what: 'network', expected: 'testnet' } },
    classify: classifyLotusError,
    parse: (pieces) => parseLotusJson(pieces.join('')),
    // Longer than a "slow down" is waited for.
    connect: () => (body) => Promise.resolve({ status: 200, retryAfterMs: 10_000, pieces: [reply(body)] }),
    verify: () => Promise.resolve(),
    report: () => undefined,
  })
}
