import t from 'tap'
import { PROVIDERS } from '../../../devnet/faults/range-limits.ts'
import { classifyRpcError } from '../../../indexer/sources/evm/classify-error.ts'

void t.test('no provider’s range limit is taken for an answer', (t) => {
  for (const [provider, [code, message]] of Object.entries(PROVIDERS)) {
    t.match(classifyRpcError(code, message), /^(other|invalid|rate)$/, provider)
  }
  t.end()
})
