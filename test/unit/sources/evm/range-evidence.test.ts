import t from 'tap'
import { RangeEvidence } from '../../../../indexer/sources/evm/range-evidence.ts'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'
import { bytes, logSaying, nodeSaying } from '../../../helpers/node-saying.ts'

void t.test('two endpoints agree by what they say, however they write it', async (t) => {
  const address = bytes(20, 5)
  const client = new RpcClient(['http://one.example', 'http://two.example'], {
    ...{ network: 'evm:1', timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 3 },
    identity: { what: 'chain id', expected: '1' },
    verify: () => Promise.resolve(),
    report: () => undefined,
    classify: () => 'other',
    connect: (url) => nodeSaying([logSaying(address, '0x04')], url.includes('two') ? 2 : 0),
  })
  t.teardown(() => client.close())
  const contract = { role: 'erc20Loans' as const, startBlock: 1, idPrefix: null }
  const contracts = new Map([[address, { ...contract, address, bits: [], topicBits: new Map() }]])
  const evidence = new RangeEvidence(client, contracts)
  for (const from of [7, 8]) {
    const { range, check } = await client.read('range', (endpoint) => evidence.read(endpoint, from, 9))
    t.equal(check, 'two')
    t.same(range.blocks, [{ number: 8, hash: bytes(32, 8), timeS: 1 }])
  }
})
