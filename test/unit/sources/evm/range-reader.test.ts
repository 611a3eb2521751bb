import t from 'tap'
import type { EvmLog } from '../../../../indexer/sources/evm/decode-answer.ts'
import { blocksByLogs, sameLogs, type LogsBetween } from '../../../../indexer/sources/evm/range-reader.ts'

const HEADER = {
  number: 7,
  hash: '0xaa',
  parentHash: '0xa9',
  timeS: 1,
  logsBloom: '0x00',
  hasTransactions: true,
  roots: null,
}
const LOG: EvmLog = {
  address: '0x01',
  topics: ['0x02', '0x03'],
  data: '0x04',
  blockNumber: 7,
  blockHash: '0xaa',
  txHash: '0x05',
  txIndex: 1,
  logIndex: 2,
  blockTimeS: 1,
}

const between = (...logs: EvmLog[]): LogsBetween => ({ from: 7, to: 7, first: HEADER, last: HEADER, logs })

void t.test('two endpoints say the same of a range when they say the same of all of it', (t) => {
  t.ok(sameLogs(between(LOG), between({ ...LOG, topics: [...LOG.topics] })))
  t.ok(sameLogs(between(), between()))
  const changes: Partial<EvmLog>[] = [
    { address: '0x11' },
    { topics: ['0x02', '0x13'] },
    { topics: ['0x02'] },
    { topics: ['0x02', '0x03', '0x03'] },
    { data: '0x14' },
    { blockHash: '0xab' },
    { txHash: '0x15' },
    { txIndex: 2 },
    { logIndex: 3 },
  ]
  for (const change of changes) {
    t.notOk(sameLogs(between(LOG), between({ ...LOG, ...change })), JSON.stringify(change))
    t.notOk(sameLogs(between(LOG, LOG), between(LOG, { ...LOG, ...change })), 'in the second log')
  }
  t.notOk(sameLogs(between(LOG), between()))
  t.notOk(sameLogs(between(), between(LOG)))
  const elsewhere = { ...HEADER, hash: '0xbb' }
  t.notOk(sameLogs(between(LOG), { ...between(LOG), first: elsewhere }), 'of another branch')
  t.notOk(sameLogs(between(LOG), { ...between(LOG), last: elsewhere }), 'ending on another branch')
  t.end()
})

void t.test('blocks are told by their logs where two endpoints tell the same possible times', (t) => {
  const range = (...logs: EvmLog[]): LogsBetween => ({
    ...{ from: 7, to: 9, logs },
    ...{ first: { ...HEADER, timeS: 10 }, last: { ...HEADER, number: 9, timeS: 14 } },
  })
  const early = { ...LOG, blockTimeS: 10 }
  const late = { ...LOG, blockNumber: 9, blockHash: '0xac', blockTimeS: 14 }
  const logs = [early, { ...early, logIndex: 3 }, late]
  t.same(blocksByLogs(range(...logs), range(...logs)), [
    { number: 7, hash: '0xaa', timeS: 10 },
    { number: 9, hash: '0xac', timeS: 14 },
  ])
  t.same(blocksByLogs(range(), range()), [])
  const told = (blockTimeS: number | null, other = blockTimeS): unknown =>
    blocksByLogs(range(early, { ...late, blockTimeS }), range(early, { ...late, blockTimeS: other }))
  t.equal(told(null), null, 'no time')
  t.equal(told(null, 14), null, 'no time of the first')
  t.equal(told(14, null), null, 'no time of the second')
  t.equal(told(14, 13), null, 'two times')
  t.equal(told(0), null, 'before the first block')
  t.equal(told(15), null, 'after the last block')
  const torn = [early, { ...early, logIndex: 3, blockTimeS: 11 }]
  t.equal(blocksByLogs(range(...torn), range(...torn)), null, 'two times of one block')
  t.end()
})
