import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import { parseHex, parseQuantity } from './hex.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

/** (pure) What a node answers, checked field by field: anything that is not as it should be is a BadAnswer. */

export interface EvmHeader extends BlockHeader {
  logsBloom: string
  hasTransactions: boolean
}

export interface EvmLog {
  address: string
  topics: string[]
  data: string
  blockNumber: number
  blockHash: string
  txHash: string
  txIndex: number
  logIndex: number
  /** `blockTimestamp`, in Unix seconds; null where the node does not give it: few did before 2025 (execution-apis 639). */
  blockTimeS: number | null
}

/** Null when the node knows no such block. */
export function decodeHeader(value: unknown): EvmHeader | null {
  if (value === null) return null
  const block = record(value, 'block')
  return {
    number: number(block['number'], 'block number'),
    hash: hex(block['hash'], 32, 'block hash'),
    parentHash: hex(block['parentHash'], 32, 'parent hash'),
    timeS: number(block['timestamp'], 'block time'),
    logsBloom: hex(block['logsBloom'], 256, 'logs bloom'),
    hasTransactions: Array.isArray(block['transactions']) && block['transactions'].length > 0,
  }
}

/** The header without what only this folder needs: a step's headers are stored. */
export function plainHeader({ number, hash, parentHash, timeS }: BlockHeader): BlockHeader {
  return { number, hash, parentHash, timeS }
}

/** The logs' numbers do not give their order: some chains give none, or number the logs of each transaction from 0. */
export class UnusableIndex extends BadAnswer {
  override name = 'UnusableIndex'
}

/**
 * Logs in chain order; some nodes answer null for none. Throws a BadAnswer where a log was removed or two are of different
 * blocks at one height, and an UnusableIndex where their numbers give no order.
 */
export function decodeLogs(value: unknown): EvmLog[] {
  const logs = decodeUnnumbered(value)
  if (logs.some(({ logIndex }) => logIndex === -1)) throw new UnusableIndex('logs without an index')
  logs.sort((left, right) => left.blockNumber - right.blockNumber || left.logIndex - right.logIndex)
  for (const [index, log] of logs.entries()) {
    const before = logs[index - 1]
    if (before?.blockNumber !== log.blockNumber) continue
    if (before.blockHash !== log.blockHash)
      throw new BadAnswer(`block ${log.blockNumber}: logs of two blocks`)
    if (before.logIndex === log.logIndex || before.txIndex > log.txIndex)
      throw new UnusableIndex(`block ${log.blockNumber}: two logs at position ${log.logIndex}`)
  }
  return logs
}

/** As the node orders them; `logIndex` is -1 where it tells none. */
export function decodeUnnumbered(value: unknown): EvmLog[] {
  if (value === null) return []
  if (!Array.isArray(value)) throw new BadAnswer('logs: not a list')
  return value.map(decodeLog)
}

function decodeLog(value: unknown): EvmLog {
  const log = record(value, 'log')
  if (log['removed'] === true) throw new BadAnswer('a removed log')
  if (!Array.isArray(log['topics']) || log['topics'].length > 4) throw new BadAnswer('log topics')
  return {
    address: hex(log['address'], 20, 'log address'),
    topics: log['topics'].map((topic) => hex(topic, 32, 'log topic')),
    data: hex(log['data'], undefined, 'log data'),
    blockNumber: number(log['blockNumber'], 'log block number'),
    blockHash: hex(log['blockHash'], 32, 'log block hash'),
    txHash: hex(log['transactionHash'], 32, 'log transaction hash'),
    txIndex: number(log['transactionIndex'], 'log transaction index'),
    logIndex: parseQuantity(log['logIndex']) ?? -1,
    blockTimeS: parseQuantity(log['blockTimestamp']),
  }
}

export function record(value: unknown, what: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw new BadAnswer(`${what}: malformed`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function number(value: unknown, what: string): number {
  const parsed = parseQuantity(value)
  if (parsed === null) throw new BadAnswer(`${what}: malformed`)
  return parsed
}

function hex(value: unknown, bytes: number | undefined, what: string): string {
  const parsed = parseHex(value, bytes)
  if (parsed === null) throw new BadAnswer(`${what}: malformed`)
  return parsed
}
