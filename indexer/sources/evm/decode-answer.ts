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

/** Logs in chain order. A removed log, or two of one position, is a BadAnswer. */
export function decodeLogs(value: unknown): EvmLog[] {
  if (!Array.isArray(value)) throw new BadAnswer('logs: not a list')
  const logs = value.map(decodeLog)
  logs.sort((left, right) => left.blockNumber - right.blockNumber || left.logIndex - right.logIndex)
  for (const [index, log] of logs.entries()) {
    const before = logs[index - 1]
    if (before?.blockNumber === log.blockNumber && before.logIndex === log.logIndex) {
      throw new BadAnswer(`block ${log.blockNumber}: two logs at position ${log.logIndex}`)
    }
    if (before?.blockNumber === log.blockNumber && before.blockHash !== log.blockHash) {
      throw new BadAnswer(`block ${log.blockNumber}: logs of two blocks`)
    }
  }
  return logs
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
    logIndex: number(log['logIndex'], 'log index'),
    blockTimeS: parseQuantity(log['blockTimestamp']),
  }
}

function record(value: unknown, what: string): Record<string, unknown> {
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
