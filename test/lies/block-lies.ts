import type { Random } from '../../devnet/evm/random.ts'
import { lyingAnswers, type Fault, type Json } from '../../devnet/faults/fault.ts'
import { bloomOf } from '../../indexer/sources/evm/bloom.ts'
import { receiptsRoot } from '../../indexer/sources/evm/proof/receipts-root.ts'

/** Lies about one block, told in all answers under the block's true hash. */

export const flipped = (hex: string): string => hex.slice(0, -1) + (hex.endsWith('1') ? '2' : '1')

/** The last character has the low byte of a digit, which a careless decoder takes for that digit. */
const disguised = (hex: string): string =>
  hex.slice(0, -1) + String.fromCharCode(0x100 + hex.charCodeAt(hex.length - 1))

/** Changes that a liar makes to one block; a log or a receipt that stays is returned as it is. */
export interface Lie {
  log?: (log: Json) => Json | null
  receipt?: (receipt: Json) => Json
  header?: (block: Json) => Json
}

export function telling(lie: Lie, hash: string): Fault {
  const { log: ofLog = (log: Json) => log, receipt: ofReceipt = (receipt: Json) => receipt } = lie
  const changedLogs = (logs: Json[]): Json[] =>
    logs.map((log) => (log['blockHash'] === hash ? ofLog(log) : log)).filter((log) => log !== null)
  const changedReceipt = (receipt: Json): Json =>
    receipt['blockHash'] === hash
      ? { ...ofReceipt(receipt), logs: changedLogs(ofReceipt(receipt)['logs'] as Json[]) }
      : receipt
  const methods = ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getTransactionReceipt']
  return lyingAnswers([...methods, 'eth_getBlockByNumber', 'eth_getBlockByHash'], (result, { method }) => {
    if (method === 'eth_getLogs') return numbered(changedLogs(result as Json[]))
    if (method === 'eth_getBlockReceipts') return (result as Json[]).map(changedReceipt)
    if (method === 'eth_getTransactionReceipt') return changedReceipt(result as Json)
    const block = result as Json | null
    return block?.['hash'] === hash ? lie.header?.(block) : undefined
  })
}

/** A liar numbers a block's remaining logs without a gap. */
function numbered(logs: Json[]): Json[] {
  let [block, next]: [unknown, number] = [null, 0]
  return logs.map((log) => {
    if (log['blockHash'] !== block) [block, next] = [log['blockHash'], 0]
    next += 1
    return { ...log, logIndex: `0x${(next - 1).toString(16)}` }
  })
}

export interface Target {
  hash: string
  /** Index of a log of ours, and its transaction's hash. */
  logIndex: string
  txHash: string
  receipts: Json[]
}

const isLog = ({ logIndex }: Target, log: Json): boolean => log['logIndex'] === logIndex
const isTx = ({ txHash }: Target, { transactionHash }: Json): boolean => transactionHash === txHash

export const BLOCK_LIES: Record<string, (target: Target, random: Random) => Lie> = {
  'a log changed': (target) => ({
    log: (log) => (isLog(target, log) ? { ...log, data: flipped(String(log['data'])) } : log),
  }),
  'a log whose address only looks like hex': (target) => ({
    log: (log) => (isLog(target, log) ? { ...log, address: disguised(String(log['address'])) } : log),
  }),
  'a log left out': (target) => ({ log: (log) => (isLog(target, log) ? null : log) }),
  'a log left out, with root and bloom to fit': (target) => {
    const logs = (receipt: Json): Json[] => (receipt['logs'] as Json[]).filter((log) => !isLog(target, log))
    const bloom = (of: Json[]): string => bloomOf(of as never)
    const receipts = target.receipts.map((receipt) => ({
      ...{ ...receipt, logs: logs(receipt) },
      logsBloom: bloom(logs(receipt)),
    }))
    return {
      log: (log) => (isLog(target, log) ? null : log),
      receipt: (receipt) => ({ ...receipt, logsBloom: bloom(logs(receipt)) }),
      header: (block) => ({
        ...{ ...block, receiptsRoot: receiptsRoot(receipts) },
        logsBloom: bloom(receipts.flatMap((receipt) => receipt.logs)),
      }),
    }
  },
  'a receipt told as reverted': (target) => ({
    log: (log) => (isTx(target, log) ? null : log),
    receipt: (receipt) => (isTx(target, receipt) ? { ...receipt, status: '0x0' } : receipt),
  }),
  'a transaction with another hash': (target, random) => {
    const transactionHash = `0x${Buffer.from(random.bytes(32)).toString('hex')}`
    const renamed = (value: unknown): unknown =>
      value === target.txHash
        ? transactionHash
        : (value as Json)['hash'] === target.txHash
          ? { ...(value as Json), hash: transactionHash }
          : value
    return {
      log: (log) => (isTx(target, log) ? { ...log, transactionHash } : log),
      receipt: (receipt) => (isTx(target, receipt) ? { ...receipt, transactionHash } : receipt),
      header: (block) => ({ ...block, transactions: (block['transactions'] as unknown[]).map(renamed) }),
    }
  },
  'a transaction changed': () => ({
    header: (block) => ({
      ...block,
      transactions: (block['transactions'] as unknown[]).map((item) =>
        typeof item === 'string' ? item : { ...(item as Json), nonce: '0xffff' },
      ),
    }),
  }),
  'a header changed': (_target, random) => {
    const fields = [
      'parentHash',
      'stateRoot',
      'receiptsRoot',
      'transactionsRoot',
      'logsBloom',
      'timestamp',
      'number',
    ]
    const field = random.pick(fields)
    return { header: (block) => ({ ...block, [field]: flipped(String(block[field])) }) }
  },
  'a block that looks empty': () => ({
    log: () => null,
    receipt: (receipt) => ({ ...receipt, logs: [] }),
    header: (block) => ({ ...block, logsBloom: `0x${'00'.repeat(256)}`, transactions: [] }),
  }),
}
