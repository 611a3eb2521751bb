import { test, type Test } from 'tap'
import { settle, signVoucher } from '../../../devnet/filecoin/channel-actions.ts'
import { FIL } from '../../../devnet/filecoin/chain/genesis.ts'
import type { Lotus, LotusOptions, Wallet } from '../../../devnet/filecoin/lotus.ts'
import { remoteNode } from '../../../devnet/filecoin/remote-node.ts'
import { openWallet } from '../../../devnet/filecoin/wallet.ts'
import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import { isPaymentChannelCode } from '../../../shared/filecoin/actor-codes.ts'
import { fundedWallets, GENESIS_TIME_S, openChannel, openLotus } from './lotus-chain.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'

/** A client of its own: what a server sends, byte by byte. */
async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', body, headers })
  return { status: response.status, text: await response.text() }
}

type Json = Record<string, unknown>

async function call(url: string, method: string, ...params: unknown[]): Promise<Json> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: `Filecoin.${method}`, params })
  const { text } = await post(url, body)
  return parseLotusJson(text) as Json
}

const result = async (...args: Parameters<typeof call>): Promise<unknown> => (await call(...args))['result']
const complaint = async (...args: Parameters<typeof call>): Promise<unknown> => {
  const { error } = (await call(...args)) as { error?: Json }
  return [error?.['code'], error?.['message']]
}
const named = (cids: readonly { cid: string }[]): Json[] => cids.map(({ cid }) => ({ '/': cid }))

interface Stage extends Lotus {
  alice: Wallet
  bob: Wallet
  channel: { robust: string; id: string; cid: string }
}

async function stage(t: Test, options: LotusOptions = {}): Promise<Stage> {
  const lotus = await openLotus(t, options)
  const [alice, bob] = await fundedWallets(lotus.chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  return { ...lotus, alice, bob, channel: await openChannel(lotus.chain, alice, bob, 1000n) }
}

test('answers and errors have the node’s own shapes and statuses', async (t) => {
  const { url } = await openLotus(t)
  const ask = (body: unknown) => post(url, typeof body === 'string' ? body : JSON.stringify(body))
  const request = (method: string, params?: unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params })
  t.strictSame(await ask(request('Filecoin.StateNetworkName')), {
    status: 200,
    text: '{"id":1,"jsonrpc":"2.0","result":"devnet-2k"}\n',
  })
  t.strictSame(await ask(request('Filecoin.Nope')), {
    status: 500,
    text: `{"error":{"code":-32601,"message":"method 'Filecoin.Nope' not found"},"id":1,"jsonrpc":"2.0"}\n`,
  })
  t.match(await ask(request('Filecoin.ChainNotify')), {
    status: 500,
    text: /-32601.*not supported in this mode \(no out channel support\)/,
  })
  t.match(await ask(request('Filecoin.ChainHead', [1])), {
    status: 500,
    text: /-32602,"message":"wrong param count \(method 'Filecoin.ChainHead'\): 1 != 0"/,
  })
  t.match(await ask(request('Filecoin.ChainGetTipSetByHeight', ['one', null])), {
    status: 500,
    text: /-32700/,
  })
  t.match(await ask('{'), { status: 500, text: /-32700/ })
  t.match(await ask(''), { status: 400, text: /-32600/ })
  t.match(await ask([]), { status: 400, text: /-32600/ })
  t.strictSame(await ask({ jsonrpc: '2.0', method: 'Filecoin.ChainHead' }), { status: 200, text: '' })
  const batch = await ask([
    request('Filecoin.StateNetworkName'),
    request('Filecoin.Nope'),
    { ...request('Filecoin.Version'), id: 'x' },
  ])
  t.match(JSON.parse(batch.text), [
    { id: 1, result: 'devnet-2k' },
    { id: 1, error: { code: -32601 } },
    { id: 'x', result: { BlockDelay: 2 } },
  ])
  t.equal((await fetch(url.replace('v1', 'v9'), { method: 'POST' })).status, 404)
})

test('tokens: 401 without, or read as the node says', async (t) => {
  const { url } = await openLotus(t, { token: 'all', readToken: 'read' })
  const ask = (method: string, headers: Record<string, string>, params: unknown[] = []) =>
    post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers)
  t.strictSame(await ask('Filecoin.ChainHead', {}), { status: 401, text: '' })
  t.strictSame(await ask('Filecoin.ChainHead', { authorization: 'Bearer wrong' }), { status: 401, text: '' })
  t.strictSame(await ask('Filecoin.ChainHead', { authorization: 'all' }), { status: 401, text: '' })
  t.equal((await ask('Filecoin.ChainHead', { authorization: 'Bearer read' })).status, 200)
  t.match(await ask('Filecoin.PaychVoucherList', { authorization: 'Bearer read' }, ['t01']), {
    status: 200,
    text: /"code":1,"message":"missing permission to invoke 'PaychVoucherList' \(need 'write'\)"/,
  })
  t.match(await ask('Filecoin.PaychVoucherList', { authorization: 'Bearer all' }, ['t01']), {
    text: /channel not tracked/,
  })
  t.match(await ask('Devnet.Mine', { authorization: 'Bearer read' }, [1]), { text: /missing permission/ })
  t.equal((await post(`${url}?token=read`, '[]')).status, 400)
  const open = await openLotus(t, { anonymous: 'read' })
  t.match(await call(open.url, 'PaychVoucherList', 't01'), { error: { code: 1 } })
  t.strictSame(await result(open.url, 'PaychList'), [])
})

test('tipsets by key, by height across null rounds, after a height, along a path', async (t) => {
  const { url, chain } = await openLotus(t, { finalityEpochs: 3 })
  await chain.mine(3)
  chain.nullRound(2)
  await chain.mine(2)
  const head = (await result(url, 'ChainHead')) as Json
  t.strictSame([head['Height'], head['Cids']], [7, named(chain.head().blocks)])
  const [block] = head['Blocks'] as Json[]
  t.match(block, {
    Height: 7,
    Timestamp: GENESIS_TIME_S + 14,
    Parents: named(chain.head().parent?.blocks ?? []),
  })
  t.strictSame(await result(url, 'ChainGetTipSet', head['Cids']), head)
  const heightOf = async (...args: [string, ...unknown[]]) => ((await result(url, ...args)) as Json)['Height']
  t.equal(await heightOf('ChainGetTipSetByHeight', 5, null), 3)
  t.equal(await heightOf('ChainGetTipSetByHeight', 5, []), 3)
  t.equal(await heightOf('ChainGetTipSetAfterHeight', 4, head['Cids']), 6)
  t.equal(await heightOf('ChainGetTipSetByHeight', 0, head['Cids']), 0)
  t.strictSame(await complaint(url, 'ChainGetTipSetByHeight', 999, null), [
    1,
    'looking for tipset with height greater than start point, req: 999, head: 7',
  ])
  t.strictSame(await complaint(url, 'ChainGetTipSet', []), [
    1,
    'NewTipSet called with zero length array of blocks',
  ])
  const nowhere = cidOfBytes(Uint8Array.of(0x80))
  t.match(await complaint(url, 'ChainGetTipSet', [{ '/': nowhere }]), [
    1,
    new RegExp(`ipld: could not find ${nowhere}`),
  ])
  t.equal(await heightOf('ChainGetFinalizedTipSet'), 3)
  t.equal(await heightOf('ChainGetGenesis'), 0)

  const old = chain.head()
  chain.reorg(2)
  const applied: number[] = []
  for (let at = chain.head(); at.height > 3 && at.parent !== null; at = at.parent) applied.unshift(at.height)
  const path = (await result(url, 'ChainGetPath', named(old.blocks), named(chain.head().blocks))) as Json[]
  t.strictSame(
    path.map(({ Type, Val }) => [Type, (Val as Json)['Height']]),
    [['revert', 7], ['revert', 6], ...applied.map((height) => ['apply', height])],
  )
})

test('finality as of a node without certificates', async (t) => {
  const { url, chain } = await openLotus(t, { finalityEpochs: null })
  await chain.mine(10)
  t.strictSame(await complaint(url, 'ChainGetFinalizedTipSet'), [1, 'height -890 is negative'])
  chain.skip(900)
  await chain.mine(1)
  t.match(await result(url, 'ChainGetFinalizedTipSet'), { Height: 10 })
})

test('executed messages and receipts are read through the child; both names of a message', async (t) => {
  const { url, chain, alice, channel } = await stage(t)
  const cid = await settle(alice, channel.robust)
  await chain.mine(2)
  const { tipset, child } = await chain.waitFor(cid)
  const [childBlock] = named(child.blocks)
  const messages = (await result(url, 'ChainGetParentMessages', childBlock)) as Json[]
  const receipts = (await result(url, 'ChainGetParentReceipts', childBlock)) as Json[]
  t.match(messages, [
    {
      Cid: { '/': cid },
      Message: { To: channel.robust, From: alice.address, Method: 3, Params: null, Value: '0' },
    },
  ])
  t.match(receipts, [{ ExitCode: 0, Return: null, EventsRoot: null }])
  t.not((messages[0]?.['Message'] as { CID: Json }).CID['/'], cid, 'the inner CID is of the unsigned message')
  t.strictSame(await result(url, 'ChainGetMessage', { '/': cid }), messages[0]?.['Message'])
  t.match(await complaint(url, 'ChainGetMessage', (messages[0]?.['Message'] as Json)['CID']), [
    1,
    /could not find/,
  ])
  t.match(await result(url, 'ChainGetBlockMessages', named(tipset.blocks)[0]), {
    BlsMessages: [],
    SecpkMessages: Array,
    Cids: Array,
  })
  t.match(await result(url, 'StateSearchMsg', null, { '/': cid }, -1, true), {
    Message: { '/': cid },
    Height: child.height,
    TipSet: named(child.blocks),
    Receipt: { ExitCode: 0 },
    ReturnDec: null,
  })
  t.equal(await result(url, 'StateSearchMsg', named(tipset.blocks), { '/': cid }, -1, true), null)

  await chain.mine(1)
  const [emptyChild] = named(chain.head().blocks)
  t.equal(await result(url, 'ChainGetParentMessages', emptyChild), null)
  t.strictSame(await result(url, 'ChainGetParentReceipts', emptyChild), [])
  const [genesis] = named(chain.store.genesis.blocks)
  t.equal(await result(url, 'ChainGetParentReceipts', genesis), null)
  const raw = (await result(url, 'ChainReadObj', emptyChild)) as string
  t.equal(cidOfBytes(Uint8Array.from(Buffer.from(raw, 'base64'))), emptyChild?.['/'])
})

test('states are as of the parents; addresses of every form', async (t) => {
  const { url, chain, alice, bob, channel } = await stage(t)
  const { tipset, child } = await chain.waitFor(channel.cid)
  const [before, after] = [named(tipset.blocks), named(child.blocks)]
  t.equal(await result(url, 'StateLookupID', channel.robust, after), channel.id)
  t.equal(await result(url, 'StateLookupID', channel.robust.replace('t', 'f'), null), channel.id)
  const missing = `resolution lookup failed (${channel.robust}): resolve address ${channel.robust}: actor not found`
  t.strictSame(await complaint(url, 'StateLookupID', channel.robust, before), [11, missing])
  t.strictSame(await complaint(url, 'StateGetActor', channel.robust, before), [1, missing])
  t.strictSame(await complaint(url, 'StateGetActor', channel.id, before), [1, 'actor not found'])
  const state = (await result(url, 'StateReadState', channel.id, null)) as Json
  t.match(state, {
    Balance: '1000',
    State: {
      From: await result(url, 'StateLookupID', alice.address, null),
      To: await result(url, 'StateLookupID', bob.address, null),
      ToSend: '0',
      SettlingAt: 0,
      MinSettleHeight: 0,
    },
  })
  const code = (state['Code'] as { '/': string })['/']
  t.ok(isPaymentChannelCode(code))
  t.match(await result(url, 'StateActorCodeCIDs', 28), { paymentchannel: { '/': code }, account: {} })
  const old = (await result(url, 'StateActorCodeCIDs', 12)) as { paymentchannel: { '/': string } }
  t.equal(old.paymentchannel['/'], 'bafkqafdgnfwc6nbpobqxs3lfnz2gg2dbnzxgk3a')

  const aliceId = await result(url, 'StateLookupID', alice.address, null)
  t.equal(await result(url, 'StateAccountKey', aliceId, null), alice.address)
  t.equal(await result(url, 'StateLookupRobustAddress', channel.id, null), channel.robust)
  t.match(await complaint(url, 'StateAccountKey', channel.id, null), [
    1,
    /actor code is not account: paymentchannel/,
  ])
  t.match(await complaint(url, 'StateAccountKey', channel.robust, null), [1, /cannot resolve actor address/])
  t.match(await result(url, 'StateGetActor', 't0101', null), { DelegatedAddress: /^t410f/ })
  t.equal(
    await result(url, 'StateAccountKey', 't0101', null),
    ((await result(url, 'StateGetActor', 't0101', null)) as Json)['DelegatedAddress'],
  )
})

test('a wallet in another process: nonce, push, devnet methods', async (t) => {
  const { url, chain } = await openLotus(t)
  const node = remoteNode(url, 't')
  const wallet = openWallet(node, 'bls', 'far away')
  await node.call('Devnet.Fund', wallet.address, FIL.toString())
  await node.call('Devnet.Mine', 2)
  const cids = await Promise.all([1n, 2n].map((value) => wallet.send({ to: wallet.key, method: 0n, value })))
  t.equal(((await node.call('Filecoin.MpoolPending', null)) as unknown[]).length, 2)
  await node.call('Devnet.Skip', 3)
  await node.call('Devnet.Mine', 2)
  t.ok(cids.every((cid) => chain.executionOf(cid)?.receipt.exitCode === 0))
  const { height } = chain.head()
  await node.call('Devnet.Reorg', 1, { drop: 0, reorder: true })
  t.equal(chain.head().height, height)
  await t.rejects(node.call('Devnet.Reorg', 0, null), /nothing to rebuild/)
  const signed = chain.pool.find(cids[0] ?? '')
  if (signed === undefined) throw new Error('not there')
  const message = { ...signed.message, nonce: 9n }
  await t.rejects(node.push({ ...signed, message }), /signature verification failed/)
})

test('numbers of 64 bits keep their digits, in both directions', async (t) => {
  const { url, alice, channel, vouchers, chain } = await stage(t)
  const high = (1n << 64n) - 1n
  const voucher = signVoucher(alice, {
    channelAddr: channel.robust,
    amount: 10n ** 30n,
    nonce: high,
    lane: 1n << 62n,
  })
  vouchers.add(channel.robust, voucher)
  const body = '{"jsonrpc":"2.0","id":1,"method":"Filecoin.PaychVoucherList","params":["' + channel.id + '"]}'
  const { text } = await post(url, body)
  t.match(text, '"Nonce":18446744073709551615')
  t.match(text, '"Lane":4611686018427387904')
  t.match(text, '"Amount":"1000000000000000000000000000000"')
  const nonce = (1n << 60n) + 1n
  await alice.send({ to: alice.key, method: high, nonce })
  const [pending] = (await result(url, 'MpoolPending', null)) as { Message: Json }[]
  t.strictSame([pending?.Message['Nonce'], pending?.Message['Method']], [nonce, high])
  t.equal(chain.pool.all()[0]?.message.nonce, nonce)
})

test('the voucher store: added over JSON-RPC, listed by channel', async (t) => {
  const { url, alice, bob, channel } = await stage(t)
  const node = remoteNode(url, 't')
  const form = (voucher: ReturnType<typeof signVoucher>) => ({
    ChannelAddr: channel.robust,
    TimeLockMin: 0,
    TimeLockMax: 0,
    SecretHash: Buffer.from(voucher.secretHash).toString('base64'),
    Extra: null,
    Lane: voucher.lane,
    Nonce: voucher.nonce,
    Amount: voucher.amount.toString(),
    MinSettleHeight: 0,
    Merges: null,
    Signature: { Type: 1, Data: Buffer.from(voucher.signature?.data ?? []).toString('base64') },
  })
  const secretHash = new Uint8Array(32).fill(7)
  const voucher = signVoucher(alice, { channelAddr: channel.robust, amount: 5n, secretHash })
  const add = (added: typeof voucher): Promise<unknown> =>
    node.call('Filecoin.PaychVoucherAdd', channel.robust, form(added), null, '0')
  await t.rejects(node.call('Filecoin.PaychVoucherList', channel.robust), /channel not tracked/)
  t.equal(await add(voucher), '5')
  t.equal(await add(voucher), '0', 'known')
  await t.rejects(add({ ...voucher, amount: 6n }), /invalid signature/)
  await t.rejects(node.call('Filecoin.PaychVoucherAdd', bob.address, form(voucher), null, '0'), /not tracked/)
  t.strictSame(await node.call('Filecoin.PaychList'), [channel.robust])
  t.match(await node.call('Filecoin.PaychVoucherList', channel.id), [{ ...form(voucher), Lane: 0, Nonce: 1 }])
})
