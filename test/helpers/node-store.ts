import { classifyLotusError } from '../../indexer/sources/filecoin/classify-lotus-error.ts'
import { LotusRules } from '../../indexer/sources/filecoin/proof/lotus-rules.ts'
import type { LotusClient } from '../../indexer/sources/filecoin/lotus-client.ts'
import { RpcClient } from '../../indexer/sources/rpc/rpc-client.ts'
import { parseAnswer } from '../../indexer/sources/filecoin/lotus-client.ts'

/** A client of a node whose voucher store has one channel, with this answer (JSON text) for its vouchers. */
export function nodeStoreClient(url: string, vouchers: string): LotusClient {
  return storeClient([url], (method) => `"result":${method === 'PaychList' ? '["t2channel"]' : vouchers}`)
}

/** Like {@link answeringClient}, for Filecoin nodes. */
export function storeClient(urls: readonly string[], answer: NodeAnswer): LotusClient {
  return {
    rpc: answeringClient(urls, answer),
    rules: new LotusRules(),
    isLockedOut: () => false,
    facts: () => ({ genesisKey: 'first', genesisTimeS: 0, epochDurationS: 30, areHeadersHashed: true }),
  }
}

/** A node's answer to a call, from `"result":` or `"error":` on (JSON text). */
type NodeAnswer = (method: string, params: unknown[], url: string) => string

/** A client of nodes that answer each call with this function. */
export function answeringClient(urls: readonly string[], answer: NodeAnswer): RpcClient {
  const reply = (url: string, body: string): string => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] }
    return `{"jsonrpc":"2.0","id":${id},${answer(method.slice(method.indexOf('.') + 1), params, url)}}`
  }
  return new RpcClient(urls, {
    ...{ maxConcurrent: 1, maxBatch: 3, timeoutMs: 1_000 },
    ...{ network: 'filecoin:testnet', identity: { what: 'network', expected: 'testnet' } },
    classify: classifyLotusError,
    parse: parseAnswer,
    // Longer than the client waits after a "slow down".
    connect: (url) => (body) =>
      Promise.resolve({ status: 200, retryAfterMs: 10_000, body: Buffer.from(reply(url, body)) }),
    verify: () => Promise.resolve(),
    report: () => undefined,
  })
}
