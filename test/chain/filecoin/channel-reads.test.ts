import t from 'tap'
import type { Test } from 'tap'
import {
  createFilecoinSource,
  type FilecoinSource,
} from '../../../indexer/sources/filecoin/filecoin-source.ts'
import {
  collect,
  createChannel,
  redeem,
  settle,
  signVoucher,
} from '../../../devnet/filecoin/channel-actions.ts'
import type { Lotus, Wallet } from '../../../devnet/filecoin/lotus.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { formatAddress } from '../../../shared/filecoin/address.ts'
import { voucherText } from '../../../shared/filecoin/voucher.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain } from './traffic.ts'
import { createdActorAddress } from '../../../devnet/filecoin/codec.ts'

t.setTimeout(400_000)

interface Scene {
  lotus: Lotus
  from: Wallet
  to: Wallet
  channel: string
}

/** A channel of 100 attoFIL between two accounts. */
async function scene(t: Test, options: Parameters<typeof startChain>[1] = {}): Promise<Scene> {
  const lotus = await startChain(t, { seed: 'reads', ...options })
  const { chain } = lotus
  const from = await chain.createWallet('secp256k1', 'from')
  const to = await chain.createWallet('bls', 'to')
  for (const { address } of [from, to]) await chain.fund(address, 10n ** 18n)
  await chain.mine(2)
  const robust = createdActorAddress(from.key, await chain.nextNonce(from.key))
  await createChannel(from, from.key, to.key, 100n)
  await chain.mine(2)
  return { lotus, from, to, channel: formatAddress(robust, 't') }
}

function open(
  t: Test,
  lotus: Lotus,
  changes: Parameters<typeof networkOf>[1] = {},
  said: string[] = [],
): FilecoinSource {
  const source = createFilecoinSource(networkOf(lotus, changes), {
    report: (_level, message) => said.push(message),
  })
  t.teardown(() => source.close())
  return source
}

const refOf = ({ chain }: Lotus, height: number): BlockRef => ({ number: height, hash: keyAt(chain, height) })

void t.test('a channel’s state is that of the end of a block', async (t) => {
  const { lotus, from, to, channel } = await scene(t)
  const { chain } = lotus
  const source = open(t, lotus)
  const made = chain.head().height - 1
  const voucher = signVoucher(from, { channelAddr: channel, amount: 40n })
  await redeem(to, channel, voucher)
  await chain.mine()
  const redeemed = chain.head().height
  await settle(to, channel)
  await chain.mine()
  const settled = chain.head().height
  chain.nullRound(9)
  await chain.mine()
  await collect(from, channel)
  await chain.mine(2)
  const collected = chain.head().height - 1
  const at = (height: number): ReturnType<FilecoinSource['readChannelState']> =>
    source.readChannelState(channel, refOf(lotus, height))
  t.match(await at(made), { found: true, balance: '100', toSend: '0', settlingAt: 0, minSettleHeight: 0 })
  t.match(await at(redeemed), { found: true, balance: '100', toSend: '40', settlingAt: 0 })
  const state = await at(settled)
  t.match(state, { found: true, toSend: '40', settlingAt: settled + 5 })
  t.same(await at(settled + 4), state, 'a null round changes nothing')
  t.match(await at(collected), { found: false, reason: /actor not found/ })
  t.match(await at(made - 1), { found: false, reason: /actor not found/ }, 'it was not there yet')
  const account = await source.readChannelState(from.address, refOf(lotus, settled))
  t.match(account, { found: false, reason: 'the actor is no payment channel' })
  const idOf = (address: string): string => `t0${chain.readActor(address)?.id ?? ''}`
  t.match(state, { id: /^t0\d+$/, from: idOf(from.address), to: idOf(to.address) })
})

void t.test('a block that left the chain is waited for, not taken for an empty one', async (t) => {
  const { lotus, channel } = await scene(t)
  const source = open(t, lotus)
  await lotus.chain.mine(3)
  const before = refOf(lotus, lotus.chain.head().height - 1)
  lotus.chain.reorg(3)
  await lotus.chain.mine(2)
  await t.rejects(source.readChannelState(channel, before), /is not on its branch/)
})

void t.test(
  'where no node has the state any more, settling goes by the rule and names stay unknown',
  async (t) => {
    const { lotus, from, channel } = await scene(t, { stateHistoryEpochs: 40 })
    await settle(from, channel)
    await lotus.chain.mine(700)
    const index = new StepIndex()
    const problems: string[] = []
    await catchUp(lotus, index, { problems })
    const event = index.events.find(({ kind }) => kind === 'SettleChannel')
    if (event?.kind !== 'SettleChannel') throw new Error('no settle')
    t.equal(event.settlingAtFrom, 'rule')
    t.equal(event.settlingAtEpoch, event.blockNumber + 1440)
    t.same(event.sender, { asWritten: from.address, id: null, robust: [from.address] })
    t.same(problems, [])
  },
)

void t.test('the node’s own vouchers', async (t) => {
  const token = 'a-token-that-may-write'
  const readToken = 'a-token-that-may-read'
  const { lotus, from, channel } = await scene(t, { token, readToken })
  const vouchers = [1n, 2n ** 63n + 1n].map((nonce) =>
    signVoucher(from, { channelAddr: channel, amount: 7n, nonce, secretHash: new Uint8Array(32).fill(5) }),
  )
  for (const voucher of vouchers) lotus.vouchers.add(channel, voucher)
  const said: string[] = []
  t.same(await open(t, lotus, { token }, said).nodeVouchers(), vouchers.map(voucherText))
  t.same(await open(t, lotus, { token, readVoucherStore: false }).nodeVouchers(), [])
  t.same(said, [])
  const reader = open(t, lotus, { token: readToken }, said)
  t.same(await reader.nodeVouchers(), [], 'a token that may only read')
  t.same(await reader.nodeVouchers(), [])
  t.equal(said.length, 1, 'is told once')
  t.match(said[0], /has no voucher store for us: .*permission/)
})

void t.test('some epochs behind the newest tipset', async (t) => {
  const lotus = await startChain(t, { seed: 'behind', nullRoundChance: 0.3 })
  await lotus.chain.mine(60)
  const source = open(t, lotus, { confidence: 10 })
  const newest = (lotus.chain.head().parent?.height ?? 0) - 10
  const { number, hash } = await source.head()
  t.equal(hash, keyAt(lotus.chain, newest))
  t.equal(number, lotus.chain.store.atOrBelow(newest, lotus.chain.head()).height)
  const headers = await source.headers(0, 1_000)
  t.equal(headers.at(-1)?.hash, hash)
  t.equal(headers.length, number + 1)
})
