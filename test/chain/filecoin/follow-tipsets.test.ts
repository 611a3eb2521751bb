import t from 'tap'
import { createRandom } from '../../../devnet/evm/random.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, sameAsChain } from './catch-up.ts'
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
