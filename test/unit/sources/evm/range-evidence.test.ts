import t from 'tap'
import { RangeEvidence } from '../../../../indexer/sources/evm/range-evidence.ts'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'
import { bytes, logSaying, nodeSaying } from '../../../helpers/node-saying.ts'

void t.test('of two endpoints with the same words one is read, and neither has an id twice', async (t) => {
  const address = bytes(20, 5)
  const urls = ['http://one.example', 'http://two.example']
  const asked = new Map(urls.map((url): [string, { method: string; id: number }[]] => [url, []]))
  let logsRead = 0
  const client = new RpcClient(urls, {
    ...{ network: 'evm:1', timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 3 },
    identity: { what: 'chain id', expected: '1' },
    verify: () => Promise.resolve(),
    report: () => undefined,
    classify: () => 'other',
    connect: (url) =>
      nodeSaying([logSaying(address, '0x04')], 0, (method, id) => asked.get(url)?.push({ method, id })),
    parse: (text) => {
      if (text.includes('logIndex')) logsRead += 1
      return JSON.parse(text) as unknown
    },
  })
  t.teardown(() => client.close())
  const contract = { role: 'erc20Loans' as const, startBlock: 1, idPrefix: null }
  const contracts = new Map([[address, { ...contract, address, bits: [], topicBits: new Map() }]])
  const evidence = new RangeEvidence(client, contracts)
  for (const from of [7, 8]) {
    const { range, check } = await client.read('range', (endpoint) => evidence.read(endpoint, from, 9))
    t.equal(check, 'second-endpoint')
    t.same(range.blocks, [{ number: 8, hash: bytes(32, 8), timeS: 1 }])
  }
  t.equal(logsRead, 2, 'two answers of four')
  const logIds: number[][] = []
  for (const requests of asked.values()) {
    t.equal(new Set(requests.map(({ id }) => id)).size, requests.length, JSON.stringify(requests))
    logIds.push(requests.filter(({ method }) => method === 'eth_getLogs').map(({ id }) => id))
  }
  t.equal(logIds.length, 2)
  t.same(logIds[0], logIds[1], 'the same question has the same id at both')
})
