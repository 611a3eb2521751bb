import type { HttpPost } from '../../indexer/sources/rpc/http-post.ts'

/** Hex of this many bytes. */
export const bytes = (count: number, value: number): string =>
  `0x${value.toString(16).padStart(count * 2, '0')}`

/** JSON-RPC form of a log in block 8. */
export function logSaying(address: string, data: string): object {
  return {
    ...{
      address,
      topics: [],
      data,
      blockNumber: '0x8',
      blockHash: bytes(32, 8),
      transactionHash: bytes(32, 9),
    },
    ...{ transactionIndex: '0x0', logIndex: '0x0', blockTimestamp: '0x1' },
  }
}

/** A node that returns these logs for any range, as JSON with this much white space, and a header for any block. */
export function nodeSaying(logs: readonly object[], space = 0): HttpPost {
  const header = (number: string): object => ({
    ...{ number, hash: bytes(32, Number(number)), parentHash: bytes(32, 1), timestamp: '0x1' },
    ...{ logsBloom: bytes(256, 0), transactions: [] },
  })
  return (body) => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: string[] }
    const result = method === 'eth_getLogs' ? logs : header(params[0] ?? '')
    const text = JSON.stringify({ jsonrpc: '2.0', id, result }, null, space)
    return Promise.resolve({ status: 200, retryAfterMs: null, body: Buffer.from(text) })
  }
}
