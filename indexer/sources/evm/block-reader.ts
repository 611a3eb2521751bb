import { bloomOf, EMPTY_BLOOM, mayContain } from './bloom.ts'
import { RetryableError } from '../../../shared/errors.ts'
import { haveSameLogs, logsOfReceipts } from './block-receipts.ts'
import { decodeLogs, decodeUnnumbered, type EvmHeader, type EvmLog } from './decode-answer.ts'
import { quantity } from './hex.ts'
import { headerOf } from './proof/chain-rules.ts'
import { readProvenBlocks } from './proof/proven-blocks.ts'
import type { RpcAnswer } from '../rpc/rpc-call.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed, type RpcErrorKind } from '../rpc/rpc-error.ts'
import type { WatchedContracts } from './watched-contracts.ts'

/** Reads headers and all logs of whole blocks from one endpoint. */

/**
 * Returns headers of blocks `from` to `to` (inclusive) by ascending height; fewer when the endpoint's head is lower.
 * Throws a BadAnswer when a block is missing below a later one.
 */
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

/**
 * Returns one header per number, in order; null when the endpoint has no such block. Throws a BadAnswer for another
 * height.
 */
export async function headersAt(
  endpoint: RpcEndpoint,
  numbers: readonly number[],
): Promise<(EvmHeader | null)[]> {
  return endpoint.sendEach(
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [quantity(number), false] })),
    (answer, index) => {
      const header = headerOf(endpoint, endpoint.resultOf('eth_getBlockByNumber', answer))
      if (header !== null && header.number !== numbers[index]) {
        throw new BadAnswer(`asked for block ${numbers[index]}, got block ${header.number}`)
      }
      return header
    },
  )
}

/**
 * Returns one header per hash, in order. Throws a CallFailed (`missing-block`) for an unknown hash and a BadAnswer for
 * another block.
 */
export async function headersByHash(endpoint: RpcEndpoint, hashes: readonly string[]): Promise<EvmHeader[]> {
  return endpoint.sendEach(
    hashes.map((hash) => ({ method: 'eth_getBlockByHash', params: [hash, false] })),
    (answer, index) => {
      const hash = hashes[index] ?? ''
      const header = headerOf(endpoint, endpoint.resultOf('eth_getBlockByHash', answer))
      if (header === null) throw new CallFailed(`block ${hash} is not known`, 'missing-block')
      if (header.hash !== hash) throw new BadAnswer(`asked for block ${hash}, got block ${header.hash}`)
      return header
    },
  )
}

/**
 * Tells whether a block may have logs of our contracts. Some chains leave blooms empty, so an empty bloom over
 * transactions proves nothing. The later check must report that fault instead of losing events.
 */
export function mayConcernUs(header: EvmHeader, contracts: WatchedContracts): boolean {
  if (header.logsBloom === EMPTY_BLOOM) return header.hasTransactions
  for (const contract of contracts.values()) if (mayContain(header.logsBloom, contract.bits)) return true
  return false
}

/**
 * Logs of one block, at least ours, and the check which shows that none of ours is missing. `one` means our contracts'
 * logs alone, which nothing confirms.
 */
export interface BlockLogs {
  logs: EvmLog[]
  check: 'receipts' | 'bloom' | 'receipt-list' | 'one'
}

/**
 * Any refusal of a block's logs counts as "too many logs" from this attempt on, provided that our contracts' logs are
 * given.
 */
const LAST_ATTEMPT = 3

/**
 * Tells whether a refusal justifies asking for our contracts' logs alone. Every endpoint must have been asked for all
 * logs first.
 */
export function isWorthLess(attempt: number, others: number): (kind: RpcErrorKind) => boolean {
  return (kind) => attempt > others && (kind === 'too-large' || (kind === 'other' && attempt >= LAST_ATTEMPT))
}

/**
 * Reads each block's logs by its hash, in the headers' order: from receipts that the header commits to where the endpoint
 * gives them, else as {@link readByBlooms} does. Throws a RetryableError when no way works.
 */
export async function readWholeBlocks(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  contracts: WatchedContracts,
  worthLess: (kind: RpcErrorKind) => boolean,
): Promise<BlockLogs[]> {
  const proven = await readProvenBlocks(endpoint, headers, (address) => contracts.has(address))
  const rest = headers.filter((_, index) => proven[index] === null)
  const others = (await readByBlooms(endpoint, rest, contracts, worthLess)).values()
  return proven.map((block) => {
    const found = block ?? others.next().value
    if (found === undefined) throw new Error('a block was not read')
    return found
  })
}

/**
 * Reads all logs of each block by its hash, in the headers' order. Logs must make exactly the header's bloom and be
 * numbered without a gap, so that a missing log is noticed. Otherwise the block is read another way; see
 * {@link readOtherwise}. Anyone can fill a block with more logs than an endpoint gives or we hold. If `worthLess`
 * accepts such a refusal, only our contracts' logs are asked for, and no bloom confirms them.
 */
async function readByBlooms(
  endpoint: RpcEndpoint,
  headers: readonly EvmHeader[],
  contracts: WatchedContracts,
  worthLess: (kind: RpcErrorKind) => boolean,
): Promise<BlockLogs[]> {
  const calls = headers.map((header) => ({ method: 'eth_getLogs', params: [{ blockHash: header.hash }] }))
  const read = await endpoint.sendEach(calls, (answer, index): BlockLogs | Doubt => {
    const header = headers[index]
    if (header === undefined) throw new Error('an answer that nobody asked for')
    if (!answer.ok) return doubtOf(answer, worthLess(answer.kind))
    return wholeOf(header, answer.result, hasFalseBlooms.has(endpoint))
  })
  const blocks: BlockLogs[] = []
  for (const [index, block] of read.entries()) {
    const header = headers[index]
    if (header === undefined) continue
    if (!('fault' in block)) blocks.push(block)
    else if (block.isTooFull === true) blocks.push(await readLess(endpoint, header, contracts, block))
    else blocks.push(await readOtherwise(endpoint, header, block))
  }
  return blocks
}

/** Logs that bloom or numbering does not confirm, and the fault. `said` is null when the endpoint gave no list. */
interface Doubt {
  said: EvmLog[] | null
  fault: RetryableError
  isTooFull?: boolean
  /** Result to use when the endpoint has no receipts. */
  otherwise?: BlockLogs
}

/** Endpoints whose receipts held logs that a bloom lacked. Their empty blooms prove nothing. */
const hasFalseBlooms = new WeakSet<RpcEndpoint>()

/** Throws when no other way should be tried: the block is unknown, or another endpoint must be asked for it first. */
function doubtOf({ kind, message, code }: RpcAnswer & { ok: false }, isTooFull: boolean): Doubt {
  const fault = new CallFailed(`eth_getLogs: ${message} (${code})`, kind)
  if (!isTooFull && kind !== 'invalid' && kind !== 'unsupported') throw fault
  return { said: null, fault, isTooFull }
}

function wholeOf(header: EvmHeader, answer: unknown, hasFalse: boolean): BlockLogs | Doubt {
  let said: EvmLog[] | null = null
  try {
    said = decodeUnnumbered(answer).filter(({ blockHash }) => blockHash === header.hash)
    const logs = decodeLogs(answer)
    for (const [at, log] of logs.entries()) {
      checkBlock(header, log)
      if (log.logIndex !== at) throw new BadAnswer(`block ${header.number}: log ${at} is missing`)
    }
    if (bloomOf(logs) !== header.logsBloom)
      throw new BadAnswer(`block ${header.number} (${header.hash}): its logs do not make its bloom`)
    const whole: BlockLogs = { logs, check: 'bloom' }
    if (logs.length > 0 || !header.hasTransactions || (answer !== null && !hasFalse)) return whole
    const fault = new BadAnswer(
      `block ${header.number} (${header.hash}): by its receipts its logs do not make its bloom`,
    )
    return hasFalse ? { said, fault } : { said, fault, otherwise: whole }
  } catch (error) {
    if (error instanceof RetryableError) return { said, fault: error }
    throw error
  }
}

/**
 * Reads by height for nodes that do not know the `blockHash` filter; the block must hold that height before and after.
 * Otherwise reads the block's receipts, which must have the same logs as the node's list. They serve chains whose
 * blooms are empty or full, or whose logs are not numbered. If the node gave no list, the receipts must make the bloom.
 * Throws the first fault when neither way works.
 */
async function readOtherwise(endpoint: RpcEndpoint, header: EvmHeader, doubt: Doubt): Promise<BlockLogs> {
  let { said, otherwise } = doubt
  if (said === null || (said.length === 0 && header.logsBloom !== EMPTY_BLOOM)) {
    const byHeight = await readByHeight(endpoint, header)
    if (!('fault' in byHeight)) return byHeight
    said = byHeight.said ?? said
    otherwise = byHeight.otherwise
  }
  try {
    const logs = await logsOfReceipts(endpoint, header)
    const isFalse = bloomOf(logs) !== header.logsBloom
    if (said === null ? !isFalse : haveSameLogs(said, logs)) {
      if (isFalse) hasFalseBlooms.add(endpoint)
      else if (otherwise !== undefined) return otherwise
      return { logs, check: 'receipt-list' }
    }
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    if (otherwise !== undefined) return otherwise
  }
  throw doubt.fault
}

async function readByHeight(endpoint: RpcEndpoint, header: EvmHeader): Promise<BlockLogs | Doubt> {
  const height = quantity(header.number)
  const isThere = async (): Promise<boolean> =>
    (await headersAt(endpoint, [header.number]))[0]?.hash === header.hash
  const before = await isThere()
  const [answer] = await endpoint.send([
    { method: 'eth_getLogs', params: [{ fromBlock: height, toBlock: height }] },
  ])
  if (before && (await isThere())) {
    if (answer?.ok === true) return wholeOf(header, answer.result, hasFalseBlooms.has(endpoint))
    return { said: null, fault: new CallFailed(`block ${header.number}: its logs are not given`, 'other') }
  }
  return {
    said: null,
    fault: new CallFailed(`block ${header.number} is not ${header.hash} here`, 'missing-block'),
  }
}

/** Asks for our contracts' logs alone. If that is refused too, the number of logs was not the reason. */
async function readLess(
  endpoint: RpcEndpoint,
  header: EvmHeader,
  contracts: WatchedContracts,
  doubt: Doubt,
): Promise<BlockLogs> {
  try {
    return { logs: await readOurLogs(endpoint, header, contracts), check: 'one' }
  } catch (error) {
    if (error instanceof CallFailed) return readOtherwise(endpoint, header, doubt)
    throw error
  }
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
