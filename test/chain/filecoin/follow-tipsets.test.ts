import t from 'tap'
import { createRandom } from '../../../devnet/evm/random.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { StepIndex } from '../sources/step-index.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { catchUp, networkOf, newestHeight, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain, Traffic } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(400_000)

void t.test('backfill, tip, null rounds and reorgs of every depth give the node’s own chain', async (t) => {
  t.setTimeout(400_000)
  const lotus = await startChain(t, { seed, nullRoundChance: 0.15, finalityEpochs: 30 })
  const { chain } = lotus
  const random = createRandom(`${seed}/test`)
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  for (let epoch = 0; epoch < 80; epoch += 1) {
    await traffic.play(random.int(0, 4))
    await chain.mine()
  }
  chain.nullRound(40)
  await chain.mine(3)
  const index = new StepIndex()
  const problems: string[] = []
  await catchUp(lotus, index, { problems })
  sameAsChain(t, index, lotus, 'backfill')
  const kinds = new Set(index.events.map(({ kind }) => kind))
  for (const kind of [
    'CreateChannel',
    'FundChannel',
    'UpdateChannel',
    'SettleChannel',
    'CollectChannel',
  ] as const) {
    t.ok(kinds.has(kind), `${kind} happened`)
  }
  t.same(problems, [], 'no problems')
  await traffic.play(30)
  await chain.mine(30)
  await catchUp(lotus, index, { problems })
  sameAsChain(t, index, lotus, 'tip')
  let expected = 0
  for (let depth = 1; depth <= 20; depth += 1) {
    const before = index.position?.hash
    const { ancestor } = chain.reorg(depth, { drop: 0.3, reorder: depth % 2 === 0, fail: 0.1 })
    await traffic.play(random.int(0, 6))
    const grown = random.int(0, 3)
    await chain.mine(grown)
    // A node whose newest block is one of ours counts as one that is behind, until it grows.
    const isBehind = newestHeight(chain) <= ancestor.height && (index.position?.number ?? 0) > ancestor.height
    if (isBehind) await chain.mine()
    const shared = chain.store.atOrBelow(index.position?.number ?? 0, chain.head())
    if (shared.blocks.map(({ cid }) => cid).join() !== before) expected += 1
    await catchUp(lotus, index, { problems })
    sameAsChain(t, index, lotus, `reorg of ${depth} to ${ancestor.height}, then ${grown} tipsets`)
  }
  t.equal(index.reorgs, expected, `${expected} reorgs, one step each`)
  t.same(problems, [], 'no problems')
})

void t.test('a tipset that is replaced by a fuller one of the same height', async (t) => {
  const lotus = await startChain(t, { seed, blocksPerTipset: [1, 2] })
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  await lotus.chain.mine(5)
  const index = new StepIndex()
  for (let round = 0; round < 10; round += 1) {
    await traffic.play(5)
    await lotus.chain.mine()
    await traffic.play(5)
    lotus.chain.widen()
    await catchUp(lotus, index)
    sameAsChain(t, index, lotus, `round ${round}`)
  }
  await lotus.chain.mine()
  await catchUp(lotus, index)
  const before = index.position
  await traffic.play(5)
  // The head's parent is what the index has: it goes when the head goes with it.
  lotus.chain.reorg(2, { nullRounds: 0 })
  await catchUp(lotus, index)
  sameAsChain(t, index, lotus, 'the newest executed tipset was replaced')
  t.equal(index.position?.number, before?.number, 'at the same height')
  t.not(index.position?.hash, before?.hash, 'by another one')
})

void t.test('of a final tipset’s branch each block below it is told, and by nobody else', async (t) => {
  const options = { seed, genesisTimeS: 1_700_000_000, nullRoundChance: 0.3 }
  const [lotus, other] = [await startChain(t, options), await startChain(t, options)]
  const { chain } = lotus
  await chain.mine(150)
  const left = chain.head().height
  chain.reorg(20)
  await chain.mine(20)
  await other.chain.mine(200)
  const proxy = await startProxy(t, lotus.url)
  const source = createFilecoinSource(networkOf(proxy))
  t.teardown(() => source.close())
  const above = (method: string): boolean => method.endsWith('ChainGetTipSetAfterHeight')
  for (const canTell of [true, false]) {
    proxy.fault = canTell
      ? () => null
      : async (requests, truth) =>
          (await truth()).map((answer) =>
            requests.some(({ id, method }) => id === answer.id && above(method))
              ? { id: answer.id, error: { code: -32601, message: 'method not found' } }
              : answer,
          )
    // Some of them are null rounds: then the final tipset is further below.
    for (let final = left; final > left - 8; final -= 1) {
      const block = { number: final, hash: keyAt(chain, final) }
      for (const number of [0, 1, 7, 30, 31, 32, final - 101, final - 3, final - 2, final - 1, final]) {
        const told = await source.finalHeader(block, number)
        t.match(told, { number, hash: keyAt(chain, number) })
        if (number > 0) t.equal(told.parentHash, keyAt(chain, number - 1))
      }
    }
  }
  const { height } = other.chain.head()
  const foreign = { number: height, hash: keyAt(other.chain, height) }
  await t.rejects(source.finalHeader(foreign, 5), /block 5: .*loading tipset/)
})
