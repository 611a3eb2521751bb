import t from 'tap'
import { classifyRpcError } from '../../../../indexer/sources/evm/classify-error.ts'
import type { RpcErrorKind } from '../../../../indexer/sources/rpc/rpc-error.ts'

/** What nodes and providers say, and what it is taken for. */
const SAID: [number, string, RpcErrorKind][] = [
  [3, 'execution reverted: wrong-state', 'revert'],
  [-32000, 'execution reverted', 'revert'],
  [-32015, 'VM execution error. Reverted 0x', 'revert'],
  [-32000, 'out of gas', 'revert'],
  [-32000, 'missing trie node 5a1c (path ) state 0x5a1c is not available', 'pruned'],
  [-32000, 'historical state 5a1c is not available', 'pruned'],
  [4444, 'state at block #5 is pruned', 'pruned'],
  [-32602, 'BlockOutOfRangeError: block height is 80 but requested was 5', 'pruned'],
  [-32602, 'BlockOutOfRangeError: block height is 80 but requested was 95', 'missing-block'],
  [-32000, 'header not found', 'missing-block'],
  [-32000, 'unknown block', 'missing-block'],
  [-32001, 'Resource not found', 'missing-block'],
  [-39001, 'finalized block not found', 'missing-block'],
  [-32601, 'the method eth_foo does not exist', 'unsupported'],
  [-32602, 'invalid argument 1: json: cannot unmarshal object', 'invalid'],
  [-32005, 'daily request count exceeded, request rate limited', 'rate'],
  [429, 'Your app has exceeded its compute units per second capacity', 'rate'],
  [-32005, 'query returned more than 10000 results', 'other'],
  [-32602, 'eth_getLogs is limited to a 10,000 range', 'other'],
  [-32000, 'block range is too wide', 'other'],
  [-32603, 'internal error', 'other'],
  [-32000, 'execution aborted (timeout = 5s)', 'other'],
  [-32000, 'execution timeout', 'other'],
  [-32000, 'request timed out', 'other'],
]

void t.test('errors are classified by what can safely be done about them', (t) => {
  for (const [code, message, kind] of SAID)
    t.equal(classifyRpcError(code, message), kind, `${code} ${message}`)
  t.end()
})
