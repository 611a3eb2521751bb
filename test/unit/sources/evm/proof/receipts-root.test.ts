import t from 'tap'
import { receiptsRoot } from '../../../../../indexer/sources/evm/proof/receipts-root.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { readEvmReceipts } from '../../../../helpers/evm-vectors.ts'

type Receipt = Record<string, unknown>

const BLOCKS = readEvmReceipts()
const PROVEN = BLOCKS.filter(({ rootFollows }) => rootFollows)

void t.test('real receipts of each type have the root in their block’s header', (t) => {
  t.equal(BLOCKS.length, 15)
  for (const { chain, shows, rootFollows, header, receipts } of BLOCKS)
    t.equal(receiptsRoot(receipts) === header['receiptsRoot'], rootFollows, `${chain}: ${shows}`)
  t.end()
})

void t.test('any lie about a receipt or a log gives another root', (t) => {
  for (const { chain, header, receipts } of PROVEN) {
    for (const [index, receipt] of receipts.entries()) {
      if (index % Math.ceil(receipts.length / 20) !== 0) continue
      for (const [lie, changed] of Object.entries(liesAbout(receipt))) {
        const root = receiptsRoot(receipts.map((said, at) => (at === index ? changed : said)))
        if (root === header['receiptsRoot']) t.fail(`${chain}, receipt ${index}: ${lie}`)
      }
    }
    t.not(receiptsRoot(receipts.slice(1)), receipts.length > 0 ? header['receiptsRoot'] : '', 'one left out')
  }
  t.end()
})

function liesAbout(receipt: Receipt): Record<string, Receipt> {
  const logs = receipt['logs'] as Receipt[]
  const [first] = logs
  const status = receipt['status'] === '0x1' ? '0x0' : '0x1'
  const lies: Record<string, Receipt> = {
    'another status': { ...receipt, status },
    'another type': { ...receipt, type: receipt['type'] === '0x2' ? '0x1' : '0x2' },
    'other gas': { ...receipt, cumulativeGasUsed: '0x1' },
    'a log more': {
      ...receipt,
      logs: [...logs, { address: `0x${'11'.repeat(20)}`, topics: [], data: '0x' }],
    },
  }
  if (first === undefined) return lies
  lies['a log left out'] = { ...receipt, logs: logs.slice(1) }
  lies['other data'] = { ...receipt, logs: [{ ...first, data: '0x1234' }, ...logs.slice(1)] }
  lies['another address'] = {
    ...receipt,
    logs: [{ ...first, address: `0x${'22'.repeat(20)}` }, ...logs.slice(1)],
  }
  lies['no topics'] = { ...receipt, logs: [{ ...first, topics: ['0x' + '00'.repeat(32)] }, ...logs.slice(1)] }
  return lies
}

void t.test('a deposit commits to its nonce since its receipts have a version', (t) => {
  const receipt = {
    ...{
      type: '0x7e',
      status: '0x1',
      cumulativeGasUsed: '0xb6dd',
      logsBloom: `0x${'00'.repeat(256)}`,
      logs: [],
    },
    depositNonce: '0x1234',
  }
  const root = (change: Receipt): string => receiptsRoot([{ ...receipt, ...change }])
  t.equal(root({}), root({ depositNonce: '0x1235' }), 'before the Canyon upgrade')
  t.not(root({ depositReceiptVersion: '0x1' }), root({}))
  t.not(
    root({ depositReceiptVersion: '0x1' }),
    root({ depositReceiptVersion: '0x1', depositNonce: '0x1235' }),
  )
  t.end()
})

void t.test('a malformed receipt is a bad answer', (t) => {
  const receipt = BLOCKS.find(({ receipts }) => receipts.length === 301)?.receipts[0] ?? {}
  const changes: Receipt[] = [
    ...[{ status: undefined }, { status: 1 }, { logsBloom: '0x' }, { logs: null }, { logs: [null] }],
    ...[{ type: '0x80' }, { type: 'legacy' }, { cumulativeGasUsed: null }, { cumulativeGasUsed: '0x' }],
    { logs: [{ address: '0x12', topics: [], data: '0x' }] },
  ]
  for (const change of changes) t.throws(() => receiptsRoot([{ ...receipt, ...change }]), BadAnswer)
  t.throws(() => receiptsRoot([null]), BadAnswer)
  t.end()
})
