import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { createdChannel, redeem, signVoucher } from '../../../devnet/filecoin/channel-actions.ts'
import { startLotus, type Lotus } from '../../../devnet/filecoin/lotus.ts'
import { FIL } from '../../../devnet/filecoin/chain/genesis.ts'
import { voucherKey } from '../../../shared/filecoin/voucher.ts'
import { fundedWallets, openChannel } from './lotus-chain.ts'

const settings = { tickMs: null, settleDelayEpochs: 5, traffic: 2, nullRoundChance: 0.1 }
const facts = ({ chain, vouchers }: Lotus) => ({
  head: chain.head().blocks.map(({ cid }) => cid),
  state: chain.head().state?.root,
  next: chain.nextHeight,
  waiting: chain.pool
    .all()
    .map(({ cid }) => cid)
    .sort(),
  tracked: vouchers.channels(),
  genesis: chain.settings.genesisTimeS,
})

test('a chain goes on where it was, branches, null rounds, pool and vouchers included', async (t) => {
  const statePath = join(t.testdir(), 'deep', 'lotus.jsonl')
  const first = await startLotus({ ...settings, seed: 'restart', statePath, genesisTimeS: 1_600_000_000 })
  const { chain } = first
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const channel = await openChannel(chain, alice, bob, FIL)
  const voucher = signVoucher(alice, { channelAddr: channel.robust, amount: 5n })
  t.equal(first.vouchers.add(channel.id, voucher), true)
  const redeemed = await redeem(bob, channel.robust, voucher)
  await chain.mine(10)
  chain.reorg(6, { reorder: true, drop: 0.3, fail: 0.2 })
  await chain.mine(3)
  chain.widen()
  await alice.send({ to: bob.key, method: 0n, value: 3n })
  chain.skip(7)
  const before = facts(first)
  const wasRedeemed = chain.executionOf(redeemed)?.receipt
  await first.stop()

  // The last line was being written when the process was killed.
  appendFileSync(statePath, '{"tipset":9999,"on":')
  const second = await startLotus({ ...settings, statePath, seed: 'another', genesisTimeS: 5 })
  t.strictSame(facts(second), before)
  t.strictSame(second.chain.executionOf(redeemed)?.receipt, wasRedeemed)
  t.strictSame(second.vouchers.of(channel.robust)?.map(voucherKey), [voucherKey(voucher)])
  await second.chain.mine(5)
  const later = facts(second)
  await second.stop()

  const third = await startLotus({ ...settings, statePath })
  t.strictSame(facts(third), later)
  await third.stop()
})

test('an hour of play is kept in less than 10 MB', async (t) => {
  const statePath = join(t.testdir(), 'lotus.jsonl')
  const lotus = await startLotus({ tickMs: null, seed: 'hour', statePath })
  const wallets = await fundedWallets(lotus.chain, ['a', 'b', 'c'])
  for (let epoch = 0; epoch < 1800; epoch++) {
    const wallet = wallets[epoch % 6]
    await wallet?.send({ to: wallet.key, method: 0n, value: 1n })
    await lotus.chain.mine(1)
  }
  const before = facts(lotus)
  await lotus.stop()
  t.ok(statSync(statePath).size < 10_000_000)
  const again = await startLotus({ tickMs: null, statePath })
  t.strictSame(facts(again), before)
  await again.stop()
})

test('in real time: an epoch a tick, and what passed while nobody mined is null rounds', async (t) => {
  const statePath = join(t.testdir(), 'lotus.jsonl')
  const agoS = Math.floor(Date.now() / 1000) - 1000
  const lotus = await startLotus({
    epochDurationS: 1,
    genesisTimeS: agoS,
    statePath,
    blocksPerTipset: [2, 2],
  })
  const [alice] = [await lotus.chain.createWallet('secp256k1', 'alice')]
  const execution = await lotus.chain.waitFor(await lotus.chain.fund(alice.address, FIL))
  await lotus.stop()
  t.ok(execution.height >= 1000 && execution.height < 1030, `height ${execution.height}`)
  t.equal(execution.child.height, execution.height + 1)
  t.equal(execution.tipset.blocks.length, 2)
  t.ok(Math.abs(execution.tipset.timestampS - Date.now() / 1000) < 30)
  t.throws(() => createdChannel({ receipt: { ...execution.receipt, exitCode: 16 } }, 't'), /exit code 16/)
})
