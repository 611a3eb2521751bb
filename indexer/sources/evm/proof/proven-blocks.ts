import type { RpcAnswer } from '../../rpc/rpc-call.ts'
import type { RpcEndpoint } from '../../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../../rpc/rpc-error.ts'
import { receiptsOneByOne } from '../block-receipts.ts'
import { EMPTY_BLOOM } from '../bloom.ts'
import { decodeHeader, decodeLogs, record, type EvmHeader, type EvmLog } from '../decode-answer.ts'
import { parseHex, quantity } from '../hex.ts'
import { chainRulesOf } from './chain-rules.ts'
import { BLOCK_RECEIPTS, lacksMethod, noteRefusal, ONE_RECEIPT } from './missing-methods.ts'
import { receiptsRoot } from './receipts-root.ts'
import { listOf } from './rlp.ts'
import { transactionsOf } from './transactions-root.ts'

/** Our logs of a block, from receipts whose root is in its header. */
export interface ProvenBlock {
  logs: EvmLog[]
  /** `bloom` when the transactions' hashes could not be proven; a receipt does not contain its transaction's. */
  check: 'receipts' | 'bloom'
}

/**
 * Reads the logs of these addresses in each block, in the headers' order. Null for a block of which the endpoint proves
 * nothing: its header does not hash, or its receipts are refused. Throws a BadAnswer for receipts or transactions that the
 * header contradicts.
 */
export async function readProvenBlocks(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  isOurs: (address: string) => boolean,
): Promise<(ProvenBlock | null)[]> {
  const hashed = headers.filter(({ roots }) => roots !== null)
  const logs = new Map(await provenLogs(endpoint, hashed, isOurs))
  const withLogs = hashed.filter((header) => (logs.get(header) ?? []).length > 0)
  const transactions = new Map(await provenTransactions(endpoint, withLogs))
  return headers.map((header): ProvenBlock | null => {
    const found = logs.get(header) ?? null
    if (found === null || found.length === 0) return found === null ? null : { logs: [], check: 'receipts' }
    const hashes = transactions.get(header) ?? null
    if (hashes === null) return { logs: found, check: 'bloom' }
    return {
      logs: found.map((log) => ({ ...log, txHash: hashes[log.txIndex] ?? log.txHash })),
      check: 'receipts',
    }
  })
}

async function provenLogs(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  isOurs: (address: string) => boolean,
): Promise<[EvmHeader, EvmLog[] | null][]> {
  const together = await logsTogether(endpoint, headers, isOurs)
  const found: [EvmHeader, EvmLog[] | null][] = []
  for (const [index, logs] of together.entries()) {
    const header = headerAt(headers, index)
    found.push([header, logs === 'refused' ? await logsOneByOne(endpoint, header, isOurs) : logs])
  }
  return found
}

/** Asks for all receipts of each block at once; `refused` where the endpoint does not do that. */
async function logsTogether(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  isOurs: (address: string) => boolean,
): Promise<(EvmLog[] | null | 'refused')[]> {
  if (lacksMethod(endpoint, BLOCK_RECEIPTS)) return headers.map(() => 'refused')
  const calls = headers.map(({ hash }) => ({ method: BLOCK_RECEIPTS, params: [hash] }))
  return endpoint.sendEach(calls, (answer, index) => {
    if (!answer.ok) noteRefusal(endpoint, BLOCK_RECEIPTS, answer.kind)
    return isRefused(answer) ? 'refused' : logsIn(endpoint, headerAt(headers, index), answer, isOurs)
  })
}

function headerAt(headers: readonly EvmHeader[], index: number): EvmHeader {
  const header = headers[index]
  if (header === undefined) throw new Error('an answer that nobody asked for')
  return header
}

/** The endpoint does not know the method. It may give receipts one by one. */
function isRefused(answer: RpcAnswer): boolean {
  return !answer.ok && (answer.kind === 'unsupported' || answer.kind === 'invalid' || answer.kind === 'other')
}

function logsIn(
  endpoint: RpcEndpoint,
  header: EvmHeader,
  answer: RpcAnswer,
  isOurs: (address: string) => boolean,
): EvmLog[] | null {
  const rules = chainRulesOf(endpoint)
  if (!answer.ok || answer.result === null || rules.known.receipts === false) return null
  const receipts = unlessMalformed(rules.known.receipts, () =>
    provenPart(
      listOf(answer.result, 'receipts'),
      header.logsBloom === EMPTY_BLOOM,
      (part) => receiptsRoot(part) === header.roots?.receipts,
    ),
  )
  // A list without a receipt shows nothing of the rule.
  if (receipts?.length === 0) return []
  if (!rules.judge('receipts', receipts !== null, header, endpoint)) return null
  return logsOf(header, receipts ?? [], isOurs)
}

/**
 * Returns the values that a root commits to: all of them, or all but the last; nothing remains only if `mayBeNone`. Polygon lists its state sync, which the
 * root does not have, as a last transaction with a receipt.
 */
function provenPart(
  values: unknown[],
  mayBeNone: boolean,
  holds: (part: unknown[]) => boolean,
): unknown[] | null {
  if (holds(values)) return values
  const shorter = values.slice(0, -1)
  const least = mayBeNone ? 1 : 2
  return values.length >= least && holds(shorter) ? shorter : null
}

/** A chain of which a rule is not known may have forms of its own: they prove nothing, and are no lie. */
function unlessMalformed<T>(known: boolean | number | undefined, read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (known === true || !(error instanceof BadAnswer)) throw error
    return null
  }
}

/** A proven log's place follows from its receipt's. */
function logsOf(
  header: EvmHeader,
  receipts: readonly unknown[],
  isOurs: (address: string) => boolean,
): EvmLog[] {
  const ours: unknown[] = []
  let logIndex = 0
  for (const [txIndex, value] of receipts.entries()) {
    const receipt = record(value, 'receipt')
    for (const item of listOf(receipt['logs'], 'receipt logs')) {
      const log = record(item, 'log')
      const address = parseHex(log['address'], 20)
      if (address === null) throw new BadAnswer(`block ${header.number}: a log with a malformed address`)
      if (isOurs(address))
        ours.push({
          ...{
            address,
            topics: log['topics'],
            data: log['data'],
            transactionHash: receipt['transactionHash'],
          },
          ...{
            blockNumber: quantity(header.number),
            blockHash: header.hash,
            blockTimestamp: quantity(header.timeS),
          },
          ...{ transactionIndex: quantity(txIndex), logIndex: quantity(logIndex) },
        })
      logIndex += 1
    }
  }
  return decodeLogs(ours)
}

/** Most receipts of a block that are asked for one by one. */
const MOST_RECEIPTS = 500

async function logsOneByOne(
  endpoint: RpcEndpoint,
  header: EvmHeader,
  isOurs: (address: string) => boolean,
): Promise<EvmLog[] | null> {
  if (lacksMethod(endpoint, ONE_RECEIPT)) return null
  try {
    const block = await endpoint.call('eth_getBlockByHash', [header.hash, false])
    if (block === null) return null
    const hashes = listOf(record(block, 'block')['transactions'], 'transactions').map((item) =>
      parseHex(item, 32),
    )
    if (hashes.length > MOST_RECEIPTS) return null
    const result = await receiptsOneByOne(endpoint, header.hash, hashes)
    return logsIn(endpoint, header, { ok: true, result }, isOurs)
  } catch (error) {
    if (error instanceof CallFailed) return null
    throw error
  }
}

/** Returns the hashes of each block's transactions; null for a block whose transactions prove nothing. */
async function provenTransactions(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
): Promise<[EvmHeader, string[] | null][]> {
  const calls = headers.map(({ hash }) => ({ method: 'eth_getBlockByHash', params: [hash, true] }))
  return endpoint.sendEach(calls, (answer, index) => {
    const header = headerAt(headers, index)
    return [header, hashesIn(endpoint, header, answer)]
  })
}

function hashesIn(endpoint: RpcEndpoint, header: EvmHeader, answer: RpcAnswer): string[] | null {
  if (!answer.ok || answer.result === null) return null
  const said = decodeHeader(answer.result)
  if (said?.hash !== header.hash)
    throw new BadAnswer(`asked for block ${header.hash}, got ${said?.hash ?? 'none'}`)
  const transactions = listOf(record(answer.result, 'block')['transactions'], 'transactions')
  let hashes: string[] = []
  const holds = (part: unknown[]): boolean => {
    const found = transactionsOf(part)
    hashes = found?.hashes ?? []
    return found?.root === header.roots?.transactions
  }
  const rules = chainRulesOf(endpoint)
  if (rules.known.transactions === false) return null
  return unlessMalformed(rules.known.transactions, () => {
    // A type that is not known here is no lie.
    if (transactionsOf(transactions) === null) return null
    const isProven = provenPart(transactions, false, holds) !== null
    return rules.judge('transactions', isProven, header, endpoint) ? hashes : null
  })
}
