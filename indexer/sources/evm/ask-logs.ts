import { nextRange, type BlockRange } from '../block-ranges.ts'
import type { RpcEndpoint, SaidResult } from '../rpc/rpc-endpoint.ts'
import { CallFailed, RateLimited, RequestRefused } from '../rpc/rpc-error.ts'
import { decodeLogs, decodeUnnumbered, UnusableIndex, type EvmLog } from './decode-answer.ts'
import { quantity } from './hex.ts'
import { numberByReceipts } from './block-receipts.ts'

/** Logs, and the one answer that they were made of, for an endpoint that is asked the same; else undefined. */
export interface SaidLogs {
  logs: EvmLog[]
  answer: SaidResult | undefined
}

/**
 * The logs of these addresses in blocks `from` to `to`, asked in ranges as wide as the endpoint takes them. Any refusal of a
 * range of several blocks is followed by a narrower one, whatever its code and words; the width is kept for the endpoint.
 * Throws what the endpoint says to a single block.
 */
export async function askLogs(
  endpoint: RpcEndpoint,
  address: readonly string[],
  from: number,
  to: number,
  before?: SaidLogs,
): Promise<SaidLogs> {
  const { ranges } = endpoint
  const logs: EvmLog[] = []
  let next = nextRange(from, to, ranges.width)
  while (next !== null) {
    const isWhole = next.from === from && next.to === to
    const said = await askRange(endpoint, address, next, isWhole ? before : undefined)
    if (said !== null && isWhole) return said
    for (const log of said?.logs ?? []) logs.push(log)
    next = nextRange(said === null ? next.from : next.to + 1, to, ranges.width)
  }
  return { logs, answer: undefined }
}

/** Null where the range was refused and a narrower one is worth asking for. */
async function askRange(
  endpoint: RpcEndpoint,
  address: readonly string[],
  { from, to }: BlockRange,
  before?: SaidLogs,
): Promise<SaidLogs | null> {
  const { ranges } = endpoint
  const filter = { fromBlock: quantity(from), toBlock: quantity(to), address }
  let answer: SaidResult
  try {
    // Of a wide range "slow down" may mean "narrower", so it is not asked for again.
    answer = await endpoint.ask('eth_getLogs', [filter], before?.answer, from < to ? 0 : undefined)
  } catch (error) {
    if (from === to || !isRefusal(error, endpoint)) throw error
    ranges.failed(to - from + 1)
    return null
  }
  ranges.succeeded(to - from + 1)
  if (ranges.limit !== null) endpoint.learned('ranges', ranges.limit, 'blocks')
  if (answer.result === null) saidNull.add(endpoint)
  if (before !== undefined && answer === before.answer) return before
  const logs = numberedLogs(answer.result)
  if (logs !== null) return { logs, answer }
  return {
    logs: await numberByReceipts(endpoint, decodeUnnumbered(answer.result), address),
    answer: undefined,
  }
}

const saidNull = new WeakSet<RpcEndpoint>()

/** Whether the endpoint has answered null for no logs, which is believed only where blooms agree. */
export function hasSaidNull(endpoint: RpcEndpoint): boolean {
  return saidNull.has(endpoint)
}

/** Null where the logs' own numbers give no order. */
function numberedLogs(result: unknown): EvmLog[] | null {
  try {
    return decodeLogs(result)
  } catch (error) {
    if (error instanceof UnusableIndex) return null
    throw error
  }
}

function isRefusal(error: unknown, { governor }: RpcEndpoint): boolean {
  if (error instanceof RateLimited) return governor.isPauseShort
  return error instanceof CallFailed || error instanceof RequestRefused
}
