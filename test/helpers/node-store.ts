import { classifyLotusError } from '../../indexer/sources/filecoin/classify-lotus-error.ts'
import type { LotusClient } from '../../indexer/sources/filecoin/lotus-client.ts'
import { RpcClient } from '../../indexer/sources/rpc/rpc-client.ts'
import { parseLotusJson } from '../../shared/filecoin/lotus-json.ts'

/** A client of a node whose voucher store has one channel, with this answer (JSON text) for its vouchers. */
export function nodeStoreClient(url: string, vouchers: string): LotusClient {
  const reply = (body: string): string => {
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    return `{"jsonrpc":"2.0","id":${id},"result":${method.endsWith('PaychList') ? '["t2channel"]' : vouchers}}`
  }
  const rpc = new RpcClient([url], {
    ...{ maxConcurrent: 1, maxBatch: 3, timeoutMs: 1_000 },
    ...{ network: 'filecoin:testnet', identity: { what: 'network', expected: 'testnet' } },
    classify: classifyLotusError,
    parse: parseLotusJson,
    // Longer than a "slow down" is waited for.
    connect: () => (body) => Promise.resolve({ status: 200, retryAfterMs: 10_000, text: reply(body) }),
    verify: () => Promise.resolve(),
    report: () => undefined,
  })
  return {
    rpc,
    isLockedOut: () => false,
    facts: () => ({ genesisKey: 'first', genesisTimeS: 0, epochDurationS: 30 }),
  }
}
