import t from 'tap'
import { lotusText } from '../../../../devnet/filecoin/rpc/lotus-text.ts'
import { voucherForm } from '../../../../devnet/filecoin/rpc/voucher-form.ts'
import { NodeVouchers, type NodeVoucher } from '../../../../indexer/sources/filecoin/node-vouchers.ts'
import { voucherText } from '../../../../shared/filecoin/voucher.ts'
import { nodeStoreClient } from '../../../helpers/node-store.ts'
import { sign, unsignedVoucher } from '../../../helpers/signed-vouchers.ts'

async function read(vouchers: string): Promise<NodeVoucher[]> {
  const client = nodeStoreClient('http://node.example', vouchers)
  try {
    return await new NodeVouchers(client, () => undefined).read()
  } finally {
    client.rpc.close()
  }
}

void t.test('one odd voucher does not hide the others, however deep it nests', async (t) => {
  const voucher = sign(unsignedVoucher())
  const form = lotusText(voucherForm(voucher, 't'))
  const deep = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
  t.match(await read(`[${deep},${form}]`), [
    voucherText(voucher),
    { unreadable: 'it nests too deep to be shown', reason: /voucher/ },
  ])
  t.match(await read(`[${form},{"Lane":18446744073709551615}]`), [
    voucherText(voucher),
    { unreadable: '{"Lane":"18446744073709551615"}', reason: /voucher/ },
  ])
})
