import { nextRange, type BlockRange } from '../block-ranges.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed, RateLimited, RequestRefused } from '../rpc/rpc-error.ts'
import { decodeLogs, decodeUnnumbered, UnusableIndex, type EvmLog } from './decode-answer.ts'
import { quantity } from './hex.ts'
import { numberByReceipts } from './block-receipts.ts'

/**
 * Returns the logs of these addresses in blocks `from` to `to` (inclusive), asked in ranges as wide as the endpoint
 * takes. Any refusal of several blocks leads to a narrower range, whatever its code and words. The endpoint keeps the
 * learned width. Throws the endpoint's error for a single block.
 */
export async function askLogs(
  endpoint: RpcEndpoint,
  address: readonly string[],
  from: number,
  to: number,
): Promise<EvmLog[]> {
  const { ranges } = endpoint
  const logs: EvmLog[] = []
  let next = nextRange(from, to, ranges.width)
  while (next !== null) {
    const found = await askRange(endpoint, address, next)
    if (found !== null && next.from === from && next.to === to) return found
    for (const log of found ?? []) logs.push(log)
    next = nextRange(found === null ? next.from : next.to + 1, to, ranges.width)
  }
  return logs
}

/** Returns null when the range was refused and a narrower one should be asked for. */
async function askRange(
  endpoint: RpcEndpoint,
  address: readonly string[],
  { from, to }: BlockRange,
): Promise<EvmLog[] | null> {
  const { ranges } = endpoint
  const filter = { fromBlock: quantity(from), toBlock: quantity(to), address }
  let result: unknown
  try {
    // "Slow down" may mean "narrower", so a wide range is not repeated.
    result = await endpoint.call('eth_getLogs', [filter], from < to ? { rateRetries: 0 } : {})
  } catch (error) {
    if (from === to || !isRefusal(error, endpoint)) throw error
    ranges.failed(to - from + 1)
    return null
  }
  ranges.succeeded(to - from + 1)
  if (ranges.limit !== null) endpoint.learned('ranges', ranges.limit, 'blocks')
  if (result === null) saidNull.add(endpoint)
  return numberedLogs(result) ?? (await numberByReceipts(endpoint, decodeUnnumbered(result), address))
}

const saidNull = new WeakSet<RpcEndpoint>()

/** Tells whether the endpoint has answered null for no logs, which counts only when blooms agree. */
export function hasSaidNull(endpoint: RpcEndpoint): boolean {
  return saidNull.has(endpoint)
}

/** Returns null when the log numbers give no order. */
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
