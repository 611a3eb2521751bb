import { test } from 'tap'
import { createdChannel, createChannel, settle } from '../../../devnet/filecoin/channel-actions.ts'
import { approve, cancel, createMultisig, propose } from '../../../devnet/filecoin/multisig-actions.ts'
import { BULLETIN_ID } from '../../../devnet/filecoin/chain/genesis.ts'
import { exitCodes, fundedWallets, openLotus } from './lotus-chain.ts'

test('unrelated traffic: successes, failures, and a channel’s methods at what is no channel', async (t) => {
  const { chain } = await openLotus(t, { traffic: 6 })
  await chain.mine(40)
  const codes = new Map<number, number>()
  let bulletins = 0
  for (let tipset = chain.head().parent; tipset !== null; tipset = tipset.parent) {
    const { receipts, messages } = tipset.execution
    receipts.forEach(({ exitCode }, i) => {
      const message = messages[i]?.message
      codes.set(exitCode, (codes.get(exitCode) ?? 0) + 1)
      if (exitCode === 0 && message?.to.payload[0] === BULLETIN_ID && message.method > 1n) bulletins++
    })
  }
  t.ok((codes.get(0) ?? 0) > 60)
  for (const code of [5, 6, 7, 18, 21, 22]) t.ok((codes.get(code) ?? 0) > 0, `exit code ${code}`)
  t.ok(bulletins > 5)
})

test('a multisig settles its channel by a message that no block lists', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const made = await createMultisig(alice, [alice.key, bob.key], 2, 100n)
  await chain.mine(2)
  const multisig = createdChannel(await chain.waitFor(made), 't').robust
  const opened = await createChannel(bob, multisig, bob.key, 5n)
  await chain.mine(2)
  const channel = createdChannel(await chain.waitFor(opened), 't').robust

  t.strictSame(
    await exitCodes(
      chain,
      settle(alice, channel),
      propose(alice, multisig, { to: channel, method: 3n }),
      propose(alice, multisig, { to: channel, method: 3n }),
      approve(alice, multisig, 0),
      cancel(alice, multisig, 1),
    ),
    [18, 0, 0, 18, 0],
  )
  t.equal(chain.readChannel(channel)?.settlingAt, 0n)
  t.strictSame(await exitCodes(chain, approve(bob, multisig, 1), approve(bob, multisig, 0)), [17, 0])
  t.equal(chain.readChannel(channel)?.settlingAt, BigInt(chain.head().height - 1 + 5))
})
