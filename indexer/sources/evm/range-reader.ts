import { EMPTY_BLOOM, mayContain } from './bloom.ts'
import { headersAt, mayConcernUs, readHeaders, readWholeBlocks } from './block-reader.ts'
import { askLogs } from './ask-logs.ts'
import type { EvmHeader, EvmLog } from './decode-answer.ts'
import type { RangeCheck, TimedBlock } from '../../../shared/events/chain-step.ts'
import { groupBy } from '../../../shared/group-by.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed, type RpcErrorKind } from '../rpc/rpc-error.ts'
import type { WatchedContract, WatchedContracts } from './watched-contracts.ts'

/**
 * Our contracts' logs of final blocks `from` to `to` (inclusive), from one endpoint. The headers of both ends allow a
 * comparison with another endpoint.
 */
export interface LogsBetween {
  from: number
  to: number
  first: EvmHeader
  last: EvmHeader
  logs: EvmLog[]
}

/** The logs of a range and the blocks that contain them. */
export interface RangeLogs extends LogsBetween {
  /** Blocks that contain our logs, by ascending height. */
  blocks: TimedBlock[]
}

/** A range of several blocks with more logs than this is read in narrower ranges, because logs are held in memory. */
const MAX_LOGS = 20_000
/** Most blocks of a range that are read whole. Beyond this the blooms are too full for a cheap check. */
const MAX_SUSPECTS = 64

/**
 * Reads logs with the headers of their blocks and of both ends. Throws a CallFailed when a block is unknown or the logs
 * of several blocks are too many.
 */
export async function readRangeLogs(
  endpoint: RpcEndpoint,
  contracts: WatchedContracts,
  from: number,
  to: number,
): Promise<RangeLogs> {
  const logs = await readLogs(endpoint, contracts, from, to)
  const numbers = [...new Set([from, ...logs.map((log) => log.blockNumber), to])]
  const headers = await headersAt(endpoint, numbers)
  const found = numbers.map((number, index) => known(headers[index], number))
  return rangeOf(from, to, logs, found)
}

/**
 * Reads logs with the headers of both ends alone. Each log names its block's hash, so equal logs of two endpoints mean
 * equal blocks. Many nodes also give the block's time.
 */
export async function readLogsBetween(
  endpoint: RpcEndpoint,
  contracts: WatchedContracts,
  from: number,
  to: number,
): Promise<LogsBetween> {
  // Three separate requests: a batch of two would not show how large a batch the endpoint takes.
  const [logs, first, last] = await Promise.all([
    readLogs(endpoint, contracts, from, to),
    knownHeader(endpoint, from),
    knownHeader(endpoint, to),
  ])
  return { from, to, first, last, logs }
}

/**
 * Adds the blocks that contain the logs, by headers of the endpoint that gave them. Throws a BadAnswer for a log of
 * another block.
 */
export async function withHeaders(endpoint: RpcEndpoint, range: LogsBetween): Promise<RangeLogs> {
  const numbers = [...new Set(range.logs.map((log) => log.blockNumber))]
  const headers = await headersAt(endpoint, numbers)
  return {
    ...range,
    blocks: blocksOf(
      range.logs,
      numbers.map((number, index) => known(headers[index], number)),
    ),
  }
}

/**
 * Returns the blocks of a range on whose logs two endpoints agree, with times from the logs. Returns null when a time
 * is missing, inconsistent, or outside those of the range's ends. The caller then reads headers.
 */
export function blocksByLogs(left: LogsBetween, right: LogsBetween): TimedBlock[] | null {
  const blocks: TimedBlock[] = []
  for (const [index, { blockNumber, blockHash, blockTimeS }] of left.logs.entries()) {
    if (blockTimeS === null || blockTimeS !== right.logs[index]?.blockTimeS) return null
    if (blockTimeS < left.first.timeS || blockTimeS > left.last.timeS) return null
    const before = blocks.at(-1)
    if (before?.number !== blockNumber)
      blocks.push({ number: blockNumber, hash: blockHash, timeS: blockTimeS })
    else if (before.timeS !== blockTimeS) return null
  }
  return blocks
}

async function knownHeader(endpoint: RpcEndpoint, number: number): Promise<EvmHeader> {
  const [header] = await headersAt(endpoint, [number])
  return known(header, number)
}

function known(header: EvmHeader | null | undefined, number: number): EvmHeader {
  if (header === null || header === undefined)
    throw new CallFailed(`block ${number} is not known`, 'missing-block')
  return header
}

/**
 * Reads the logs and all headers of the range, whose blooms are checked afterwards. Throws a CallFailed when the
 * endpoint's head is below `to`.
 */
export async function readRangeWithHeaders(
  endpoint: RpcEndpoint,
  contracts: WatchedContracts,
  from: number,
  to: number,
  readAll: typeof readHeaders = readHeaders,
): Promise<{ range: RangeLogs; headers: EvmHeader[] }> {
  const [logs, headers] = await Promise.all([
    readLogs(endpoint, contracts, from, to),
    readAll(endpoint, from, to),
  ])
  requireAll(headers, from, to)
  return { range: rangeOf(from, to, logs, headers), headers }
}

async function readLogs(
  endpoint: RpcEndpoint,
  contracts: WatchedContracts,
  from: number,
  to: number,
): Promise<EvmLog[]> {
  const logs = await askLogs(endpoint, [...contracts.keys()], from, to)
  for (const log of logs) checkAsked(log, contracts, from, to)
  if (logs.length > MAX_LOGS && from < to)
    throw new CallFailed(`${logs.length} logs in blocks ${from} to ${to}`, 'other')
  return logs
}

function rangeOf(from: number, to: number, logs: EvmLog[], found: readonly EvmHeader[]): RangeLogs {
  const blocks = blocksOf(logs, found)
  const [first, last] = [found[0], found.at(-1)]
  if (first?.number !== from || last?.number !== to)
    throw new BadAnswer(`blocks ${from} and ${to}: no headers`)
  return { from, to, first, last, blocks, logs }
}

function blocksOf(logs: readonly EvmLog[], found: readonly EvmHeader[]): TimedBlock[] {
  const known = new Map(found.map((header) => [header.number, header]))
  const blocks = new Map<number, TimedBlock>()
  for (const { blockNumber, blockHash } of logs) {
    const header = known.get(blockNumber)
    if (header?.hash !== blockHash) throw new BadAnswer(`block ${blockNumber}: a log of another block`)
    blocks.set(blockNumber, { number: blockNumber, hash: blockHash, timeS: header.timeS })
  }
  return [...blocks.values()]
}

/** Throws a CallFailed when the endpoint's head is below the range's end. */
export function requireAll(headers: readonly EvmHeader[], from: number, to: number): void {
  if (headers.length === to - from + 1) return
  throw new CallFailed(`block ${from + headers.length} is not known`, 'missing-block')
}

function checkAsked(log: EvmLog, contracts: WatchedContracts, from: number, to: number): void {
  if (!contracts.has(log.address)) throw new BadAnswer('a log of a contract that was not asked for')
  if (log.blockNumber < from || log.blockNumber > to) {
    throw new BadAnswer(`a log of block ${log.blockNumber}, asked for ${from} to ${to}`)
  }
}

/** Tells whether two endpoints give the same logs and the same ends of a range. */
export function sameLogs(left: LogsBetween, right: LogsBetween): boolean {
  if (left.first.hash !== right.first.hash || left.last.hash !== right.last.hash) return false
  return isSameList(left.logs, right.logs)
}

export function isSameList(
  left: readonly EvmLog[],
  right: readonly EvmLog[],
  isSame: (left: EvmLog, right: EvmLog) => boolean = isSameLog,
): boolean {
  if (left.length !== right.length) return false
  return left.every((log, index) => {
    const other = right[index]
    return other !== undefined && isSame(log, other)
  })
}

function isSameLog(left: EvmLog, right: EvmLog): boolean {
  return left.logIndex === right.logIndex && isSameUnnumbered(left, right)
}

function isSameUnnumbered(left: EvmLog, right: EvmLog): boolean {
  return (
    left.blockHash === right.blockHash &&
    left.txHash === right.txHash &&
    left.txIndex === right.txIndex &&
    left.address === right.address &&
    left.data === right.data &&
    left.topics.length === right.topics.length &&
    left.topics.every((topic, index) => topic === right.topics[index])
  )
}

/** Checks of single blocks that differ from the range's, by height. */
export type BlockChecks = ReadonlyMap<number, RangeCheck>

/** A range's logs after a comparison with its blocks. */
export interface CheckedLogs {
  checks: BlockChecks
  /** Logs of blocks that were read by their receipts are numbered by these: some nodes number them otherwise. */
  logs: EvmLog[]
}

/**
 * Compares a range with the blooms of all its blocks, in `headers`. Blocks whose blooms allow more are read whole, and with
 * `provesOurs` those with logs of ours too. Returns the logs and the checks of blocks that are not `bloom`, or null when blooms or a
 * block are too full to decide. Throws a BadAnswer when a block has other logs of ours than the range.
 */
export async function checkBlooms(
  endpoint: RpcEndpoint,
  contracts: WatchedContracts,
  range: LogsBetween,
  headers: readonly EvmHeader[],
  provesOurs: boolean,
): Promise<CheckedLogs | null> {
  checkLinks(headers, range)
  const ours = groupBy(range.logs, ({ blockNumber }) => blockNumber)
  const logsOf = ({ number }: EvmHeader): EvmLog[] => ours.get(number) ?? []
  const suspects = headers.filter((header) => isSuspect(header, contracts, logsOf(header)))
  if (suspects.length > MAX_SUSPECTS) return null
  const withOurs = provesOurs ? headers.filter((header) => logsOf(header).length > 0) : []
  const wanted = new Set(withOurs.length > MAX_SUSPECTS ? suspects : [...suspects, ...withOurs])
  const read = headers.filter((header) => wanted.has(header))
  // A wide range that is refused is read again in narrower ones.
  const worthLess = (kind: RpcErrorKind): boolean =>
    kind === 'too-large' || (kind === 'other' && range.from === range.to)
  const whole = await readWholeBlocks(endpoint, read, contracts, worthLess)
  const checks = new Map<number, RangeCheck>()
  const proven = new Map<number, EvmLog[]>()
  for (const [index, header] of read.entries()) {
    const { logs = [], check = 'one' } = whole[index] ?? {}
    const inBlock = logs.filter((log) => contracts.has(log.address))
    const isSame =
      check === 'receipts'
        ? isSameList(inBlock, logsOf(header), isSameUnnumbered)
        : inBlock.length === logsOf(header).length
    if (!isSame) {
      throw new BadAnswer(
        `block ${header.number}: ${inBlock.length} of our logs, not all in its range's answer`,
      )
    }
    if (check !== 'bloom') checks.set(header.number, check)
    if (check === 'receipts') proven.set(header.number, inBlock)
  }
  if ([...checks.values()].includes('one')) return null
  return { checks, logs: [...ours].flatMap(([number, logs]) => proven.get(number) ?? logs) }
}

function checkLinks(headers: readonly EvmHeader[], range: LogsBetween): void {
  for (const [index, header] of headers.entries()) {
    const before = headers[index - 1]
    if (before !== undefined && header.parentHash !== before.hash) {
      throw new BadAnswer(`block ${header.number} does not continue block ${before.number}`)
    }
  }
  if (headers[0]?.hash !== range.first.hash || headers.at(-1)?.hash !== range.last.hash) {
    throw new BadAnswer(`blocks ${range.from} to ${range.to}: two branches in one answer`)
  }
  const byNumber = new Map(headers.map((header) => [header.number, header.hash]))
  for (const { blockNumber, blockHash } of range.logs) {
    if (byNumber.get(blockNumber) !== blockHash)
      throw new BadAnswer(`block ${blockNumber}: a log of another block`)
  }
}

/** Tells whether the bloom allows a log of ours that the answer lacks. */
function isSuspect(header: EvmHeader, contracts: WatchedContracts, logs: readonly EvmLog[]): boolean {
  if (!mayConcernUs(header, contracts)) {
    if (logs.length > 0)
      throw new BadAnswer(`block ${header.number}: its bloom excludes the logs it is said to have`)
    return false
  }
  for (const [address, contract] of contracts) {
    const mine = logs.filter((log) => log.address === address)
    if (lacksALog(header, contract, mine)) return true
  }
  return header.hasTransactions && header.logsBloom === EMPTY_BLOOM
}

function lacksALog(header: EvmHeader, contract: WatchedContract, mine: readonly EvmLog[]): boolean {
  if (!mayContain(header.logsBloom, contract.bits)) return false
  if (mine.length === 0) return true
  const seen = new Set(mine.map((log) => log.topics[0]))
  for (const [topic, bits] of contract.topicBits) {
    if (!seen.has(topic) && mayContain(header.logsBloom, bits)) return true
  }
  return false
}
