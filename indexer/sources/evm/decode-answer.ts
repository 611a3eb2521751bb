import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import { parseHex, parseQuantity } from './hex.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { headerHash } from './proof/header-hash.ts'

/** (pure) Decodes a node's answers field by field. Any malformed field is a BadAnswer. */

export interface EvmHeader extends BlockHeader {
  logsBloom: string
  hasTransactions: boolean
  /** Roots that the block's hash commits to; null when the header does not hash to its hash by Ethereum's rule. */
  roots: { receipts: string; transactions: string; state: string } | null
}

/** Root of a trie without values. */
export const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

export interface EvmLog {
  address: string
  topics: string[]
  data: string
  blockNumber: number
  blockHash: string
  txHash: string
  txIndex: number
  logIndex: number
  /**
   * `blockTimestamp` in Unix seconds; null when the node omits it. Few nodes gave it before 2025 (execution-apis 639).
   */
  blockTimeS: number | null
}

/** Returns null when the node knows no such block. Throws a BadAnswer for a malformed one. */
export function decodeHeader(value: unknown): EvmHeader | null {
  if (value === null) return null
  const block = record(value, 'block')
  const hash = hex(block['hash'], 32, 'block hash')
  const roots = headerHash(block) === hash ? rootsOf(block) : null
  const hasListed = Array.isArray(block['transactions']) && block['transactions'].length > 0
  return {
    number: number(block['number'], 'block number'),
    hash,
    parentHash: hex(block['parentHash'], 32, 'parent hash'),
    timeS: number(block['timestamp'], 'block time'),
    logsBloom: hex(block['logsBloom'], 256, 'logs bloom'),
    // The list of transactions is not hashed, their root is.
    hasTransactions: roots === null ? hasListed : roots.transactions !== EMPTY_ROOT,
    roots,
  }
}

function rootsOf(block: Record<string, unknown>): EvmHeader['roots'] {
  return {
    receipts: hex(block['receiptsRoot'], 32, 'receipts root'),
    transactions: hex(block['transactionsRoot'], 32, 'transactions root'),
    state: hex(block['stateRoot'], 32, 'state root'),
  }
}

/** Drops the fields that only this folder needs, because a step's headers are stored. */
export function plainHeader({ number, hash, parentHash, timeS }: BlockHeader): BlockHeader {
  return { number, hash, parentHash, timeS }
}

/** Log numbers that give no order: some chains omit them, others restart at 0 in each transaction. */
export class UnusableIndex extends BadAnswer {
  override name = 'UnusableIndex'
}

/**
 * Returns logs in chain order. Some nodes answer null for no logs. Throws a BadAnswer for a removed log or for logs of
 * two blocks at one height. Throws an UnusableIndex when the log numbers give no order.
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

/**
 * Returns logs in the node's order; `logIndex` is -1 when the node gives none. Throws a BadAnswer for malformed logs.
 */
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

/** Throws a BadAnswer that names `what` unless the value is an object. */
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
