import t from 'tap'
import { classifyLotusError } from '../../../../indexer/sources/filecoin/classify-lotus-error.ts'
import type { RpcErrorKind } from '../../../../indexer/sources/rpc/rpc-error.ts'

/** What nodes say, and what it is taken for. */
const SAID: [number, string, RpcErrorKind][] = [
  [11, 'actor not found', 'revert'],
  [1, 'resolution lookup failed (t2abc): resolve address t2abc: actor not found', 'revert'],
  [1, 'failed to get account actor state for f01000: actor code is not account: multisig', 'revert'],
  [1, 'Address key not found', 'revert'],
  [-32601, "method 'Filecoin.ChainGetFinalizedTipSet' not found", 'unsupported'],
  [1, "missing permission to invoke 'PaychVoucherList' (need 'write')", 'unsupported'],
  [13, 'payment channel manager disabled', 'unsupported'],
  [1, 'bad tipset: lookbacks of more than 24h0m0s are disallowed', 'pruned'],
  [1, 'loading state tree: ipld: could not find bafy2bzaceabc', 'pruned'],
  [1, 'loading tipset {bafy}: ipld: could not find bafy2bzaceabc', 'missing-block'],
  [1, 'looking for tipset with height greater than start point, req: 999, head: 11', 'missing-block'],
  [-32602, "wrong param count (method 'Filecoin.ChainHead'): 1 != 0", 'invalid'],
  [429, 'Too Many Requests', 'rate'],
  [1, 'context deadline exceeded', 'other'],
]

void t.test('errors are classified by what can safely be done about them', (t) => {
  for (const [code, message, kind] of SAID)
    t.equal(classifyLotusError(code, message), kind, `${code} ${message}`)
  t.end()
})
