import t from 'tap'
import { lotusText } from '../../../../devnet/filecoin/rpc/lotus-text.ts'
import { voucherForm } from '../../../../devnet/filecoin/rpc/voucher-form.ts'
import { NodeVouchers, type NodeVoucher } from '../../../../indexer/sources/filecoin/node-vouchers.ts'
import { voucherText } from '../../../../shared/filecoin/voucher.ts'
import { nodeStoreClient, storeClient } from '../../../helpers/node-store.ts'
import { sign, unsignedVoucher } from '../../../helpers/signed-vouchers.ts'

async function read(vouchers: string): Promise<NodeVoucher[]> {
  const client = nodeStoreClient('http://node.example', vouchers)
  try {
    return await new NodeVouchers(client, () => undefined).read()
  } finally {
    client.rpc.close()
  }
}

void t.test('one odd voucher does not hide the others', async (t) => {
  const voucher = sign(unsignedVoucher())
  const form = lotusText(voucherForm(voucher, 't'))
  t.match(await read(`[${form},{"Lane":18446744073709551615}]`), [
    voucherText(voucher),
    { unreadable: '{"Lane":"18446744073709551615"}', reason: /voucher/ },
  ])
})

void t.test('a store that no node keeps is a fault of its endpoint', async (t) => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  await t.rejects(read(deep), { message: /nested deeper/ })
})

void t.test('a node without a store does not hide that of another one at the same host', async (t) => {
  const voucher = sign(unsignedVoucher())
  const form = lotusText(voucherForm(voucher, 't'))
  const asked: string[] = []
  const urls = ['http://node.example/one', 'http://node.example/two']
  const client = storeClient(urls, (method, _, url) => {
    asked.push(url)
    if (url === urls[0]) return '"error":{"code":-32601,"message":"no such method"}'
    return `"result":${method === 'PaychList' ? '["t2channel"]' : `[${form}]`}`
  })
  t.teardown(() => client.rpc.close())
  const vouchers = new NodeVouchers(client, () => undefined)
  for (let times = 0; times < 2; times += 1) t.same(await vouchers.read(), [voucherText(voucher)])
  t.equal(asked.filter((url) => url === urls[0]).length, 1, 'who has none is not asked again')
})
