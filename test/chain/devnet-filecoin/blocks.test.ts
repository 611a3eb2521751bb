import { test } from 'tap'
import { settle } from '../../../devnet/filecoin/channel-actions.ts'
import { encodeHeader, headerOf } from '../../../devnet/filecoin/chain/block.ts'
import { isBls } from '../../../devnet/filecoin/chain/signed-message.ts'
import { ancestryOf, type Tipset } from '../../../devnet/filecoin/chain/tipset.ts'
import { encodeAddress } from '../../../shared/filecoin/address.ts'
import { decodeCbor } from '../../../shared/filecoin/cbor.ts'
import { fundedWallets, GENESIS_TIME_S, openChannel, openLotus } from './lotus-chain.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'

function* tipsets(head: Tipset): Generator<Tipset> {
  for (let tipset: Tipset | null = head; tipset !== null; tipset = tipset.parent) yield tipset
}

test('heights without blocks, and times that go on', async (t) => {
  const { chain } = await openLotus(t, { epochDurationS: 30, nullRoundChance: 0.5 })
  await chain.mine(40)
  const heights = [...tipsets(chain.head())].map(({ height }) => height).reverse()
  const missing = (heights.at(-1) ?? 0) + 1 - heights.length
  t.ok(missing > 10, `${missing} null rounds`)
  t.ok(
    [...tipsets(chain.head())].every(({ height, timestampS }) => timestampS === GENESIS_TIME_S + 30 * height),
  )

  const before = chain.head()
  chain.skip(1000)
  await chain.mine(1)
  t.ok(chain.head().height > before.height + 1000)
  t.equal(chain.head().parent, before)
  t.equal(chain.store.atOrBelow(before.height + 500, chain.head()), before)
  t.equal(chain.store.atOrAbove(before.height + 500, chain.head()), chain.head())
})

test('CIDs are those of the headers, which name the parents', async (t) => {
  const { chain } = await openLotus(t)
  await fundedWallets(chain, ['alice', 'bob'])
  for (const tipset of tipsets(chain.head())) {
    for (const block of tipset.blocks) {
      const bytes = encodeHeader(headerOf(block, ancestryOf(tipset)))
      t.equal(cidOfBytes(bytes), block.cid)
      const [miner, , , , , parents, , height, , , , , timestamp] = decodeCbor(bytes) as unknown[]
      t.match(
        [miner, height, timestamp],
        [
          encodeAddress({
            protocol: 0,
            payload: Uint8Array.of((block.miner & 0x7f) | 0x80, block.miner >> 7),
          }),
          tipset.height,
          tipset.timestampS,
        ],
      )
      t.strictSame((parents as unknown[]).map(String), tipset.parent?.blocks.map(({ cid }) => cid) ?? [])
    }
  }
})

test('a message in several blocks runs once, in the order of blocks, keys and nonces', async (t) => {
  const { chain } = await openLotus(t, { blocksPerTipset: [3, 5] })
  const secp256k1 = await fundedWallets(chain, ['a', 'b', 'c', 'd'])
  const bls = await fundedWallets(chain, ['e'], 'bls')
  const wallets = [...secp256k1, ...bls]
  let repeated = 0
  for (let round = 0; round < 6; round++) {
    for (const wallet of wallets) {
      await wallet.send({ to: wallet.key, method: 0n, value: BigInt(round) })
      await wallet.send({ to: wallet.key, method: 0n, value: 1n })
    }
    const { blocks, execution } = await chain.mine(1)
    const included = blocks.flatMap(({ messages }) => messages)
    repeated += included.length - execution.messages.length
    t.equal(execution.messages.length, 2 * wallets.length)
    t.equal(new Set(execution.messages.map(({ cid }) => cid)).size, 2 * wallets.length)
    const firstBlock = (cid: string): number =>
      blocks.findIndex((block) => block.messages.some((m) => m.cid === cid))
    const places = execution.messages.map(
      (signed) => [firstBlock(signed.cid), isBls(signed) ? 0 : 1] as const,
    )
    const isOrdered = places.every(([block, kind], i) => {
      const [lastBlock, lastKind] = places[i - 1] ?? [0, 0]
      return block > lastBlock || (block === lastBlock && kind >= lastKind)
    })
    t.ok(isOrdered, 'blocks by ticket, in a block BLS first')
  }
  t.ok(repeated > 0, `${repeated} repeated`)
})

test('of two messages with one nonce the one in the earlier block runs', async (t) => {
  const { chain } = await openLotus(t)
  const [alice] = await fundedWallets(chain, ['alice'])
  if (alice === undefined) throw new Error('no wallet')
  const winners = new Set<string>()
  for (let round = 0; round < 12; round++) {
    const nonce = await chain.nextNonce(alice.key)
    const first = await alice.send({ to: alice.key, method: 0n, value: 1n, nonce })
    const other = await chain.createWallet('secp256k1', 'elsewhere')
    // The same key signs elsewhere, where the first is not known.
    const elsewhere = await openLotus(t, { seed: `${t.name} ${round}` })
    const twin = await elsewhere.chain.createWallet('secp256k1', 'alice')
    const second = await twin.send({ to: other.key, method: 0n, value: 2n, nonce, gasPremium: 200n })
    const signed = elsewhere.chain.pool.find(second)
    if (signed === undefined) throw new Error('not signed')
    await chain.push(signed, { keepRival: true })
    const { blocks, execution } = await chain.mine(1)
    const included = blocks.flatMap(({ messages }) => messages.map(({ cid }) => cid))
    t.ok(included.includes(first) && included.includes(second))
    t.equal(execution.messages.length, 1)
    t.equal(execution.messages[0]?.cid, included[0])
    winners.add(included[0] === first ? 'first' : 'second')
    await chain.mine(1)
    t.equal(chain.pool.all().length, 0)
  }
  t.strictSame([...winners].sort(), ['first', 'second'])
})

test('only the child has the receipts, and a state is as of the parents', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const channel = await openChannel(chain, alice, bob, 1n)
  const cid = await settle(alice, channel.robust)
  const waiting = chain.waitFor(cid)
  await chain.mine(1)
  t.equal(chain.executionOf(cid), undefined)
  t.equal(chain.readChannel(channel.robust)?.settlingAt, 0n)
  await chain.mine(1)
  const { height, child } = await waiting
  t.equal(height, chain.head().height - 1)
  t.equal(child, chain.head())
  t.equal(chain.readChannel(channel.robust)?.settlingAt, BigInt(height + 5))
})

test('a signature that is not the sender’s is refused', async (t) => {
  const { chain } = await openLotus(t)
  const [alice, bob] = await fundedWallets(chain, ['alice', 'bob'])
  if (alice === undefined || bob === undefined) throw new Error('no wallets')
  const cid = await alice.send({ to: bob.key, method: 0n, value: 1n })
  const signed = chain.pool.find(cid)
  if (signed === undefined) throw new Error('not there')
  const message = { ...signed.message, value: 2n, gasPremium: 1000n }
  await t.rejects(chain.push({ ...signed, message, cid: 'another' }), /signature verification failed/)
  await chain.mine(1)
  await t.rejects(alice.send({ to: bob.key, method: 0n, nonce: 0n }), /nonce too low/)
})
