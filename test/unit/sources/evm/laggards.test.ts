import t from 'tap'
import { EMPTY_BLOOM } from '../../../../indexer/sources/evm/bloom.ts'
import { Laggards } from '../../../../indexer/sources/evm/laggards.ts'
import type { EvmHeader } from '../../../../indexer/sources/evm/decode-answer.ts'
import { answeringClient } from '../../../helpers/node-store.ts'
import { bytes } from '../../../helpers/node-saying.ts'

const headerAt = (number: number): EvmHeader => ({
  ...{ number, hash: bytes(32, number), parentHash: bytes(32, number - 1), timeS: 1 },
  ...{ logsBloom: EMPTY_BLOOM, hasTransactions: false, roots: null },
})

void t.test('an endpoint that is behind lacks the blocks above its newest head', (t) => {
  const client = answeringClient(['http://127.0.0.1:1'], () => '"result":null')
  const [endpoint] = client.available()
  if (endpoint === undefined) throw new Error('one endpoint')
  const laggards = new Laggards(client, () => Promise.resolve(headerAt(1)))
  laggards.saw(endpoint, headerAt(9))
  t.equal(client.stateOf(endpoint).behindAt, null, 'it was not found to be behind')
  client.apply(endpoint, { type: 'fell behind', head: 10 })
  // There is nobody to compare it with.
  for (const [head, known] of [
    [12, 12],
    [11, 12],
  ] as const) {
    laggards.saw(endpoint, headerAt(head))
    t.equal(client.stateOf(endpoint).behindAt, known)
  }
  client.close()
  t.end()
})
