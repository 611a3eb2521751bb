import { RpcClient, type ClientSettings } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, WrongChain } from '../rpc/rpc-error.ts'
import { EVM_LIMITS } from './answer-limits.ts'
import { classifyRpcError } from './classify-error.ts'

/** Creates the client of one EVM chain, which is identified by its chain id (decimal text). */
export function createEvmClient(
  urls: readonly string[],
  chainId: string,
  settings: ClientSettings,
): RpcClient {
  return new RpcClient(urls, {
    ...settings,
    classify: classifyRpcError,
    limits: EVM_LIMITS,
    identity: { what: 'chain id', expected: chainId },
    verify: (endpoint) => compareChainId(endpoint, chainId),
  })
}

async function compareChainId(endpoint: RpcEndpoint, expected: string): Promise<void> {
  const result = await endpoint.call('eth_chainId', [])
  if (typeof result !== 'string' || !/^0x[0-9a-fA-F]{1,16}$/.test(result)) {
    throw new BadAnswer('eth_chainId: not a number')
  }
  const found = BigInt(result).toString()
  if (found !== expected) throw new WrongChain(`chain id ${found}, expected ${expected}`, found)
}
