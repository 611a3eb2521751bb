import { bloomOf, EMPTY_BLOOM, mayContain } from './bloom.ts'
import { decodeHeader, decodeLogs, type EvmHeader, type EvmLog } from './decode-answer.ts'
import { quantity } from './hex.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import type { WatchedContracts } from './watched-contracts.ts'

/** Headers and whole blocks' logs, from one endpoint. */

/** By height, consecutive; fewer at the end when the endpoint's head is lower. */
export async function readHeaders(endpoint: RpcEndpoint, from: number, to: number): Promise<EvmHeader[]> {
  const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
  const found = await headersAt(endpoint, numbers)
  const end = found.indexOf(null)
  const headers = end === -1 ? found : found.slice(0, end)
  if (found.slice(headers.length).some((header) => header !== null)) {
    throw new BadAnswer(`block ${from + headers.length} is missing below its successor`)
  }
  return headers.filter((header) => header !== null)
}

/** Null where the endpoint has no such block. */
export async function headersAt(
  endpoint: RpcEndpoint,
  numbers: readonly number[],
): Promise<(EvmHeader | null)[]> {
  return endpoint.sendEach(
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [quantity(number), false] })),
    (answer, index) => {
      const header = decodeHeader(endpoint.resultOf('eth_getBlockByNumber', answer))
      if (header !== null && header.number !== numbers[index]) {
        throw new BadAnswer(`asked for block ${numbers[index]}, got block ${header.number}`)
      }
      return header
    },
  )
}

export async function headersByHash(endpoint: RpcEndpoint, hashes: readonly string[]): Promise<EvmHeader[]> {
  return endpoint.sendEach(
    hashes.map((hash) => ({ method: 'eth_getBlockByHash', params: [hash, false] })),
    (answer, index) => {
      const hash = hashes[index] ?? ''
      const header = decodeHeader(endpoint.resultOf('eth_getBlockByHash', answer))
      if (header === null) throw new CallFailed(`block ${hash} is not known`, 'missing-block')
      if (header.hash !== hash) throw new BadAnswer(`asked for block ${hash}, got block ${header.hash}`)
      return header
    },
  )
}

/**
 * Whether a block may have logs of our contracts. An empty bloom over transactions is not believed: some chains
 * do not fill it in, and there it must end in a message instead of in missing events.
 */
export function mayConcernUs(header: EvmHeader, contracts: WatchedContracts): boolean {
  if (header.logsBloom === EMPTY_BLOOM) return header.hasTransactions
  for (const contract of contracts.values()) if (mayContain(header.logsBloom, contract.bits)) return true
  return false
}

/**
 * All logs of each block, asked by its hash. They must make exactly the header's bloom and be numbered without a
 * gap, so that a log that is missing does not go unseen.
 */
export async function readWholeBlocks(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
): Promise<EvmLog[][]> {
  const calls = headers.map((header) => ({ method: 'eth_getLogs', params: [{ blockHash: header.hash }] }))
  return endpoint.sendEach(calls, (answer, index) => {
    const header = headers[index]
    if (header === undefined) throw new Error('an answer that nobody asked for')
    const logs = decodeLogs(endpoint.resultOf('eth_getLogs', answer))
    for (const [at, log] of logs.entries()) {
      if (log.blockHash !== header.hash || log.blockNumber !== header.number) {
        throw new BadAnswer(`block ${header.number}: a log of another block`)
      }
      if (log.logIndex !== at) throw new BadAnswer(`block ${header.number}: log ${at} is missing`)
    }
    if (bloomOf(logs) !== header.logsBloom) {
      throw new BadAnswer(`block ${header.number} (${header.hash}): its logs do not make its bloom`)
    }
    return logs
  })
}
