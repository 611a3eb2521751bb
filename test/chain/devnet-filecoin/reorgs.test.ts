import { test } from 'tap'
import { createChannel, createdChannel, settle } from '../../../devnet/filecoin/channel-actions.ts'
import { FIL } from '../../../devnet/filecoin/chain/genesis.ts'
import type { DevChain } from '../../../devnet/filecoin/lotus.ts'
import { openLotus, fundedWallets, exitCodes, openChannel } from './lotus-chain.ts'

const keyAt = (chain: DevChain): string =>
  chain
    .head()
    .blocks.map(({ cid }) => cid)
    .join()

test('creates in another order get other IDs and keep their robust addresses', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const cids: [string, string] = [
    await createChannel(alice, alice.key, bob.key, 1n),
    await createChannel(bob, bob.key, alice.key, 2n),
  ]
  await chain.mine(2)
  const made = () => cids.map((cid) => createdChannel(chain.executionOf(cid) ?? { receipt: never }, 't'))
  const before = made()
  chain.reorg(2, { reorder: true })
  await chain.mine(1)
  const after = made()
  t.strictSame(
    after.map(({ robust }) => robust),
    before.map(({ robust }) => robust),
  )
  t.strictSame(
    after.map(({ id }) => id),
    before.map(({ id }) => id).reverse(),
  )
  t.equal(chain.readChannel(before[0]?.id ?? '')?.balance, 2n, 'the ID means the other channel now')
})

const never = { exitCode: -1, returned: new Uint8Array(), gasUsed: 0n, eventsRoot: null }

test('every depth: the old branch is left downwards, the new one climbed', async (t) => {
  const { chain } = await openLotus(t, { nullRoundChance: 0.2 })
  await chain.mine(25)
  for (let depth = 1; depth <= 20; depth++) {
    const old = chain.head()
    const { ancestor, changes } = chain.reorg(depth)
    const reverts = changes.filter(({ type }) => type === 'revert').map(({ tipset }) => tipset)
    const applies = changes.filter(({ type }) => type === 'apply').map(({ tipset }) => tipset)
    t.equal(reverts[0], old)
    t.equal(reverts.at(-1)?.parent, ancestor)
    t.equal(applies[0]?.parent, ancestor)
    t.equal(applies.at(-1), chain.head())
    t.equal(chain.head().height, old.height)
    t.ok(ancestor.height <= old.height - depth)
    t.ok(applies.every((tipset, i) => tipset.parent === (applies[i - 1] ?? ancestor)))
    t.ok(chain.head().weight > old.weight, 'heavier')
    t.equal(chain.store.isCanonical(old), false)
    t.equal(chain.store.atOrBelow(old.height, old), old, 'the abandoned branch can still be read')
    await chain.mine(1)
  }
})

test('what does not come along waits, and can be replaced by another with its nonce', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const nonce = await chain.nextNonce(alice.key)
  const channel = await openChannel(chain, alice, bob, 5n)
  chain.reorg(3, { without: [channel.cid] })
  await chain.mine(0)
  t.equal(chain.executionOf(channel.cid), undefined)
  t.equal(chain.pool.all().length, 1)
  await t.rejects(createChannel(alice, alice.key, alice.key, 9n, { nonce }), /increase GasPremium/)
  const replacement = await createChannel(alice, alice.key, alice.key, 9n, { nonce, gasPremium: 200n })
  await chain.mine(2)
  t.equal(createdChannel(await chain.waitFor(replacement), 't').robust, channel.robust)
  t.equal(chain.readChannel(channel.robust)?.balance, 9n, 'the same address is another channel')
})

test('what succeeded can fail in the new branch', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const channel = await openChannel(chain, alice, bob, 5n)
  const cid = await settle(alice, channel.robust)
  await chain.mine(2)
  t.equal(chain.executionOf(cid)?.receipt.exitCode, 0)
  chain.reorg(2, { fail: 1 })
  await chain.mine(1)
  t.equal(chain.executionOf(cid)?.receipt.exitCode, 7)
  t.equal(chain.readChannel(channel.robust)?.settlingAt, 0n)
  t.strictSame(await exitCodes(chain, settle(alice, channel.robust)), [0])
})

test('who was given an account has it in every branch', async (t) => {
  const { chain } = await openLotus(t)
  const wallet = await chain.createWallet('secp256k1', 'newcomer')
  await chain.fund(wallet.address, FIL)
  await chain.mine(2)
  chain.reorg(2, { fail: 1 })
  const cid = await wallet.send({ to: wallet.key, method: 0n })
  await chain.mine(2)
  t.equal(chain.executionOf(cid)?.receipt.exitCode, 0)
})

test('dropped messages come later', async (t) => {
  const { chain } = await openLotus(t)
  const wallets = await fundedWallets(chain, ['a', 'b', 'c', 'd'])
  const sent = await Promise.all(wallets.map((wallet) => wallet.send({ to: wallet.key, method: 0n })))
  await chain.mine(2)
  chain.reorg(2, { drop: 1 })
  t.equal(chain.pool.all().length, sent.length)
  await chain.mine(2)
  t.ok(sent.every((cid) => chain.executionOf(cid)?.height === chain.head().height - 1))
})

test('a fuller tipset takes the place of the head', async (t) => {
  const { chain } = await openLotus(t, { blocksPerTipset: [1, 2] })
  await chain.mine(3)
  const narrow = chain.head()
  const changes = chain.widen()
  t.strictSame(
    changes.map(({ type, tipset }) => [type, tipset.height]),
    [
      ['revert', 3],
      ['apply', 3],
    ],
  )
  t.equal(chain.head().blocks.length, narrow.blocks.length + 1)
  const cids = chain.head().blocks.map(({ cid }) => cid)
  t.ok(
    narrow.blocks.every(({ cid }) => cids.includes(cid)),
    'with the same blocks and one more',
  )
  t.equal(chain.store.byKey(narrow.blocks.map(({ cid }) => cid)), narrow)
  t.equal(chain.store.byKey(cids), chain.head())
})

test('whatever order the fuller tipset’s blocks come in, a sender’s messages run in a row', async (t) => {
  const { chain } = await openLotus(t, { blocksPerTipset: [1, 2] })
  const wallets = await fundedWallets(chain, ['a', 'b', 'c'])
  const send = async (): Promise<string[]> =>
    Promise.all(wallets.map((wallet) => wallet.send({ to: wallet.key, method: 0n })))
  for (let round = 0; round < 30; round += 1) {
    const before = await send()
    await chain.mine()
    const after = await send()
    chain.widen()
    const ran = chain.head().execution.messages.map(({ cid }) => cid)
    t.same([...ran].sort(), [...before, ...after].sort(), `round ${round}: each ran once`)
  }
  await chain.mine()
  const newcomer = await chain.createWallet('secp256k1', 'newcomer')
  await chain.fund(newcomer.address, FIL)
  await chain.mine()
  const cid = await newcomer.send({ to: newcomer.key, method: 0n })
  chain.widen()
  t.notOk(
    chain.head().execution.messages.some((message) => message.cid === cid),
    'who came to be in this tipset has no valid message in it',
  )
  await chain.mine(2)
  t.equal(chain.executionOf(cid)?.receipt.exitCode, 0, 'it comes in the next one')
})

test('what is final stays', async (t) => {
  const { chain } = await openLotus(t, { finalityEpochs: 4 })
  await chain.mine(10)
  const key = keyAt(chain)
  t.throws(() => chain.reorg(5), /height 6 is final/)
  t.throws(() => chain.reorg(0), /nothing to rebuild/)
  t.equal(keyAt(chain), key)
  chain.reorg(4)
  t.not(keyAt(chain), key)
})
