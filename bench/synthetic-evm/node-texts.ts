import { bloomOf } from '../../indexer/sources/evm/bloom.ts'
import { keccakText } from '../../indexer/sources/evm/proof/keccak.ts'
import { orderedTrieRoot } from '../../indexer/sources/evm/proof/ordered-trie.ts'
import { rlpBytes, rlpList, rlpText } from '../../indexer/sources/evm/proof/rlp.ts'

/** A node's answers, with the roots and hashes that Ethereum's rules give them. */

const NOBODY = `0x${'0'.repeat(40)}`
const NO_ROOT = `0x${'1'.repeat(64)}`
const GAS = 42_000

const hex = (value: number): string => `0x${value.toString(16)}`

/** A legacy transaction. Its input is its name; all else is the same for all. */
export interface SyntheticTransaction {
  hash: string
  input: string
  /** RLP as hex without 0x. */
  encoded: string
}

export function transactionWith(input: string): SyntheticTransaction {
  // Nonce 0, gas price 1, gas 21,000, to, value 0, input, v, r and s.
  const before = [rlpText(''), '01', rlpText('5208'), rlpBytes(NOBODY, 'to'), rlpText('')]
  const encoded = rlpList([...before, rlpBytes(input, 'input'), '1b', '01', '01'])
  return { hash: `0x${keccakText(encoded)}`, input, encoded }
}

export function transactionsRootOf(transactions: readonly SyntheticTransaction[]): string {
  return orderedTrieRoot(transactions.map(({ encoded }) => encoded))
}

/** Formats a transaction; its sender is no part of the synthetic chain. */
export function transactionJson({ hash, input }: Pick<SyntheticTransaction, 'hash' | 'input'>): object {
  return {
    ...{ hash, from: NOBODY, to: NOBODY, input, value: '0x0', nonce: '0x0', gas: '0x5208', gasPrice: '0x1' },
    ...{ type: '0x0', v: '0x1b', r: '0x1', s: '0x1' },
  }
}

interface PlacedLog {
  address: string
  topics: readonly string[]
  data: string
  transactionIndex: number | string
}

/** Returns the receipts of transactions with these logs, in their order. */
export function receiptsOf(transactions: number, logs: readonly PlacedLog[]): object[] {
  const byTransaction: PlacedLog[][] = Array.from({ length: transactions }, () => [])
  for (const log of logs) byTransaction[Number(log.transactionIndex)]?.push(log)
  return byTransaction.map((mine, index) => ({
    ...{ type: '0x0', status: '0x1', gasUsed: hex(GAS), cumulativeGasUsed: hex(GAS * (index + 1)) },
    ...{ logsBloom: bloomOf(mine), logs: mine, transactionIndex: hex(index) },
  }))
}

/** Includes all header fields of a present node, because a parser reads all of them. */
export function headerFields(block: {
  number: number
  timeS: number
  branch: 0 | 1
  parentHash: string
  bloom: string
  transactionsRoot: string
  receiptsRoot: string
}) {
  return {
    number: hex(block.number),
    parentHash: block.parentHash,
    nonce: '0x0000000000000000',
    sha3Uncles: NO_ROOT,
    logsBloom: `0x${block.bloom}`,
    transactionsRoot: block.transactionsRoot,
    stateRoot: NO_ROOT,
    receiptsRoot: block.receiptsRoot,
    withdrawalsRoot: NO_ROOT,
    miner: NOBODY,
    difficulty: '0x0',
    extraData: block.branch === 0 ? '0x' : '0x01',
    gasLimit: '0x1c9c380',
    gasUsed: '0xa410',
    timestamp: hex(block.timeS),
    baseFeePerGas: '0x7',
    mixHash: NO_ROOT,
  }
}

export function logText(log: {
  address: string
  topics: readonly string[]
  data: string
  transactionIndex: number
  blockNumber: number
  blockHash: string
  blockTimeS: number
  txHash: string
  logIndex: number
}): string {
  const place = `"blockNumber":"${hex(log.blockNumber)}","transactionHash":"${log.txHash}","transactionIndex":"${hex(log.transactionIndex)}","blockHash":"${log.blockHash}","blockTimestamp":"${hex(log.blockTimeS)}","logIndex":"${hex(log.logIndex)}"`
  return `{"address":"${log.address}","topics":["${log.topics.join('","')}"],"data":"${log.data}",${place},"removed":false}`
}
