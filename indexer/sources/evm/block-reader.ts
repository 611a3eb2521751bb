import { bloomOf, EMPTY_BLOOM, mayContain } from './bloom.ts'
import { decodeHeader, decodeLogs, type EvmHeader, type EvmLog } from './decode-answer.ts'
import { quantity } from './hex.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed, type RpcErrorKind } from '../rpc/rpc-error.ts'
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

/** A block's logs: all of them, borne out by its bloom, or those of the watched contracts alone. */
export interface BlockLogs {
  logs: EvmLog[]
  isWhole: boolean
}

/** At this attempt any refusal of a block's logs counts as one of so many logs, if those of our contracts are given. */
const LAST_ATTEMPT = 3

/** Whether a refusal of a block's logs is worth asking for less, once every endpoint was asked for all. */
export function isWorthLess(attempt: number, others: number): (kind: RpcErrorKind) => boolean {
  return (kind) => attempt > others && (kind === 'too-large' || (kind === 'other' && attempt >= LAST_ATTEMPT))
}

/**
 * All logs of each block, asked by its hash. They must make exactly the header's bloom and be numbered without a
 * gap, so that a log that is missing does not go unseen. Anybody can fill a block with more logs than an endpoint gives or we
 * hold: where such a refusal is `worthLess`, only the logs of our contracts are asked for, and no bloom bears them out.
 */
export async function readWholeBlocks(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  contracts: WatchedContracts,
  worthLess: (kind: RpcErrorKind) => boolean,
): Promise<BlockLogs[]> {
  const calls = headers.map((header) => ({ method: 'eth_getLogs', params: [{ blockHash: header.hash }] }))
  const read = await endpoint.sendEach(calls, (answer, index) => {
    const header = headers[index]
    if (header === undefined) throw new Error('an answer that nobody asked for')
    if (!answer.ok && worthLess(answer.kind)) return header
    return { logs: wholeLogs(header, endpoint.resultOf('eth_getLogs', answer)), isWhole: true }
  })
  const blocks: BlockLogs[] = []
  for (const block of read)
    blocks.push(
      'logs' in block ? block : { logs: await readOurLogs(endpoint, block, contracts), isWhole: false },
    )
  return blocks
}

function wholeLogs(header: EvmHeader, result: unknown): EvmLog[] {
  const logs = decodeLogs(result)
  for (const [at, log] of logs.entries()) {
    checkBlock(header, log)
    if (log.logIndex !== at) throw new BadAnswer(`block ${header.number}: log ${at} is missing`)
  }
  if (bloomOf(logs) !== header.logsBloom) {
    throw new BadAnswer(`block ${header.number} (${header.hash}): its logs do not make its bloom`)
  }
  return logs
}

async function readOurLogs(
  endpoint: RpcEndpoint,
  header: EvmHeader,
  contracts: WatchedContracts,
): Promise<EvmLog[]> {
  const filter = { blockHash: header.hash, address: [...contracts.keys()] }
  const logs = decodeLogs(await endpoint.call('eth_getLogs', [filter]))
  for (const log of logs) {
    checkBlock(header, log)
    const contract = contracts.get(log.address)
    if (contract === undefined) throw new BadAnswer('a log of a contract that was not asked for')
    if (!mayContain(header.logsBloom, contract.bits))
      throw new BadAnswer(`block ${header.number}: its bloom excludes the logs it is said to have`)
  }
  return logs
}

function checkBlock(header: EvmHeader, log: EvmLog): void {
  if (log.blockHash !== header.hash || log.blockNumber !== header.number)
    throw new BadAnswer(`block ${header.number}: a log of another block`)
}
