import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { decodeLogs, record, type EvmLog } from './decode-answer.ts'
import { parseHex, quantity } from './hex.ts'
import { BLOCK_RECEIPTS, lacksMethod, noteRefusal, ONE_RECEIPT } from './proof/missing-methods.ts'

/**
 * Reads all logs of a block from its receipts, numbered in their order. Each transaction that the block names must have
 * a receipt of this block; the receipts' root is not computed. Throws a CallFailed when the endpoint has no receipts
 * and a BadAnswer for receipts of another block.
 */
export async function logsOfReceipts(endpoint: RpcEndpoint, { number, hash }: BlockRef): Promise<EvmLog[]> {
  const block = await endpoint.call('eth_getBlockByHash', [hash, false])
  if (block === null) throw new CallFailed(`block ${hash} is not known`, 'missing-block')
  const { transactions } = record(block, 'block')
  const hashes = Array.isArray(transactions) ? transactions.map((item) => parseHex(item, 32)) : []
  const receipts = await receiptsOf(endpoint, hash, hashes)
  const logs: unknown[] = []
  for (const [index, txHash] of hashes.entries()) {
    const receipt = record(receipts[index], 'receipt')
    const isOfBlock = parseHex(receipt['blockHash'], 32) === hash
    if (!isOfBlock || txHash === null || parseHex(receipt['transactionHash'], 32) !== txHash)
      throw new BadAnswer(`block ${number}: receipt ${index} is of another block or transaction`)
    if (!Array.isArray(receipt['logs'])) throw new BadAnswer(`block ${number}: a receipt without logs`)
    for (const log of receipt['logs'] as unknown[])
      logs.push({ ...record(log, 'log'), logIndex: quantity(logs.length) })
  }
  const decoded = decodeLogs(logs)
  for (const log of decoded)
    if (log.blockHash !== hash || log.blockNumber !== number)
      throw new BadAnswer(`block ${number}: a receipt's log of another block`)
  return decoded
}

/** Asks for all receipts at once where the endpoint knows that method, else one by one. */
async function receiptsOf(
  endpoint: RpcEndpoint,
  hash: string,
  hashes: readonly (string | null)[],
): Promise<unknown[]> {
  if (!lacksMethod(endpoint, BLOCK_RECEIPTS)) {
    const [together] = await endpoint.send([{ method: BLOCK_RECEIPTS, params: [hash] }])
    if (together?.ok === true && Array.isArray(together.result) && together.result.length === hashes.length)
      return together.result as unknown[]
    if (together?.ok === false) noteRefusal(endpoint, BLOCK_RECEIPTS, together.kind)
  }
  return receiptsOneByOne(endpoint, hash, hashes)
}

/** Throws a CallFailed when a receipt is refused or missing, or when all together are too large for memory. */
export async function receiptsOneByOne(
  endpoint: RpcEndpoint,
  hash: string,
  hashes: readonly (string | null)[],
): Promise<unknown[]> {
  const calls = hashes.map((txHash) => ({ method: ONE_RECEIPT, params: [txHash] }))
  return (await endpoint.send(calls)).map((answer) => {
    if (!answer.ok) noteRefusal(endpoint, ONE_RECEIPT, answer.kind)
    const receipt = endpoint.resultOf(ONE_RECEIPT, answer)
    if (receipt === null) throw new CallFailed(`block ${hash}: a receipt is not available`, 'missing-block')
    return receipt
  })
}

/**
 * Returns the same logs, numbered by their blocks' receipts. Throws a BadAnswer when the receipts have other logs of
 * these addresses.
 */
export async function numberByReceipts(
  endpoint: RpcEndpoint,
  said: readonly EvmLog[],
  address: readonly string[],
): Promise<EvmLog[]> {
  const numbered: EvmLog[] = []
  const blocks = new Map(said.map(({ blockHash, blockNumber }) => [blockHash, blockNumber]))
  for (const [hash, number] of blocks) {
    const found = await logsOfReceipts(endpoint, { number, hash })
    const ours = found.filter((log) => address.includes(log.address))
    if (
      !haveSameLogs(
        said.filter(({ blockHash }) => blockHash === hash),
        ours,
      )
    )
      throw new BadAnswer(`block ${number}: its receipts have other logs than its range's answer`)
    numbered.push(...ours)
  }
  return numbered.sort(
    (left, right) => left.blockNumber - right.blockNumber || left.logIndex - right.logIndex,
  )
}

/** Tells whether both lists have the same logs, whatever their numbers and order. */
export function haveSameLogs(left: readonly EvmLog[], right: readonly EvmLog[]): boolean {
  const names = (logs: readonly EvmLog[]): string =>
    logs
      .map(({ txHash, address, topics, data }) => [txHash, address, ...topics, data].join())
      .sort()
      .join(';')
  return names(left) === names(right)
}
