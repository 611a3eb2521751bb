import type { RpcEndpoint } from '../../rpc/rpc-endpoint.ts'
import type { RpcErrorKind } from '../../rpc/rpc-error.ts'

export const BLOCK_RECEIPTS = 'eth_getBlockReceipts'
export const ONE_RECEIPT = 'eth_getTransactionReceipt'

/** An endpoint may be upgraded; it is asked again after an hour. */
const ASKED_AGAIN_MS = 3_600_000

const missing = new WeakMap<RpcEndpoint, Map<string, number>>()

/** Whether the endpoint said less than an hour ago that it does not know the method. */
export function lacksMethod(endpoint: RpcEndpoint, method: string): boolean {
  return performance.now() < (missing.get(endpoint)?.get(method) ?? -Infinity)
}

/** Remembers a refusal that says that the endpoint does not know the method. Other refusals may be of one request. */
export function noteRefusal(endpoint: RpcEndpoint, method: string, kind: RpcErrorKind): void {
  if (kind !== 'unsupported') return
  const untilMs = missing.get(endpoint) ?? new Map<string, number>()
  missing.set(endpoint, untilMs.set(method, performance.now() + ASKED_AGAIN_MS))
}
