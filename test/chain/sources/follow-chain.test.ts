import t from 'tap'
import type { ChainStep } from '../../../shared/events/chain-step.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { catchUp } from './catch-up.ts'
import { Player, startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'

const seed = testSeed(t)

void t.test('backfill, tip and reorgs of every depth give the node’s own chain', async (t) => {
  const chain = await startLittleChain(t)
  const player = new Player(chain, seed)
  const random = seededRandom(seed)
  const source = createEvmSource(chain.network())
  await source.check()
  for (let block = 0; block < 100; block += 1) {
    await player.play(random.below(6))
    await chain.mine()
  }
  const index = new StepIndex()
  const problems: string[] = []
  await catchUp(chain, index, { problems })
  await sameAsNode(t, index, chain, 'backfill')
  t.ok(index.events.length > 100, 'something happened')
  t.ok(
    index.evidence.every(({ check }) => check !== 'one'),
    'every range was checked',
  )
  t.same(problems, [], 'no problems')

  let expected = 0
  for (let round = 0; round < 10; round += 1) {
    // Deeper than what is compared at once, now and then; never as deep as what is final.
    const depth = round % 3 === 2 ? 33 + random.below(25) : 1 + random.below(30)
    const before = index.position
    await chain.rpc('evm_increaseTime', 1 + round)
    await chain.rpc('anvil_reorg', depth, [])
    await player.resync()
    const there = (await chain.rpc('eth_getBlockByHash', before?.hash, false)) as object | null
    if (there === null) expected += 1
    const grow = random.below(10)
    for (let block = 0; block < grow; block += 1) {
      await player.play(random.below(6))
      await chain.mine()
    }
    await catchUp(chain, index, { problems })
    await sameAsNode(t, index, chain, `reorg of ${depth}, then ${grow} blocks`)
  }
  t.equal(index.reorgs, expected, `${expected} reorgs, one step each`)
  t.ok(expected > 3, 'the node did reorganize')
  t.same(problems, [], 'no problems')
  await source.close()
})

void t.test('following a chain that moves all the time', async (t) => {
  const chain = await startLittleChain(t)
  const player = new Player(chain, seed + 1)
  const random = seededRandom(seed + 1)
  const index = new StepIndex()
  const source = createEvmSource(chain.network())
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const following = (async () => {
    for await (const step of followChain(source, index.resumePoint(), { signal: stop.signal }))
      index.apply(step)
  })()
  for (let round = 0; round < 40; round += 1) {
    await player.play(random.below(8))
    await chain.mine(1 + random.below(2))
    if (random.chance(0.3)) {
      const head = Number(await chain.rpc('eth_blockNumber'))
      await chain.rpc('anvil_reorg', 1 + random.below(Math.max(1, Math.min(20, head - 12))), [])
      await player.resync()
    }
  }
  const head = (await chain.rpc('eth_getBlockByNumber', 'latest', false)) as { hash: string }
  for (let wait = 0; wait < 200 && index.position?.hash !== head.hash; wait += 1) await sleep(25)
  stop.abort()
  await following
  await sameAsNode(t, index, chain, 'after it all')
  await source.close()
})

void t.test('a node that rolled back is a replica that is behind, until it differs', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(10)
  const index = new StepIndex()
  await catchUp(chain, index)
  const before = index.position
  await chain.rpc('anvil_rollback', 4)
  const steps = await stepsDuring(chain, index, 150)
  t.same(steps, [], 'nothing is rolled back')
  t.same(index.position, before)
  await chain.rpc('evm_increaseTime', 1000)
  await chain.mine(2)
  await catchUp(chain, index)
  t.equal(index.reorgs, 1, 'a shorter branch is a reorg')
  t.equal(index.position?.number, (before?.number ?? 0) - 2)
  await sameAsNode(t, index, chain, 'the shorter branch')
})

void t.test(
  'blocks that nothing is known of yet are read a few at a time, not all up to the head',
  async (t) => {
    const chain = await startLittleChain(t)
    await chain.mine(60)
    const index = new StepIndex()
    const steps = await stepsDuring(chain, index, 500)
    const widths = steps.flatMap((step) => (step.type === 'blocks' ? [step.to.number - step.from + 1] : []))
    const tip = widths.findIndex((width) => width >= 16)
    t.equal(widths[tip], 16, 'their events are held in memory, however many those are')
    t.equal(widths[tip + 1], 32, 'and more at a time of those that have few')
    await sameAsNode(t, index, chain, 'the head')
  },
)

void t.test('a head below what is final rolls nothing back', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(200)
  const index = new StepIndex()
  await catchUp(chain, index)
  t.ok((index.finalized?.number ?? 0) > 100)
  const other = await startLittleChain(t)
  const problems: string[] = []
  t.same(await stepsDuring(other, index, 1500, problems), [])
  t.match(problems[0], /is below block \d+, which is final/)
  await other.mine(300)
  const more: string[] = []
  t.same(await stepsDuring(other, index, 1500, more), [])
  t.match(more[0], /is final/)
})

void t.test('the signal ends it at once, also in the middle of a request', async (t) => {
  const chain = await startLittleChain(t)
  const source = createEvmSource(chain.network({ pollIntervalMs: 60_000 }))
  const stop = new AbortController()
  const steps = followChain(source, new StepIndex().resumePoint(), { signal: stop.signal })
  setTimeout(() => stop.abort(), 150)
  const start = Date.now()
  for await (const step of steps) t.ok(step)
  t.ok(Date.now() - start < 30_000, 'while it waits for a tick')
  const early = new AbortController()
  const first = followChain(source, new StepIndex().resumePoint(), { signal: early.signal }).next()
  early.abort()
  t.equal((await first).done, true)
  await source.close()
})

async function stepsDuring(
  chain: LittleChain,
  index: StepIndex,
  ms: number,
  problems: string[] = [],
): Promise<ChainStep[]> {
  const source = createEvmSource(chain.network())
  const stop = new AbortController()
  setTimeout(() => stop.abort(), ms)
  const steps: ChainStep[] = []
  for await (const step of followChain(source, index.resumePoint(), {
    signal: stop.signal,
    onProblem: (message) => problems.push(message),
  })) {
    index.apply(step)
    steps.push(step)
  }
  await source.close()
  return steps
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
