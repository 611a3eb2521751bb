import t from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** More blocks are stayed behind the head than it takes a block to be final. */

const seed = testSeed(t)
t.setTimeout(120_000)

for (const confirmations of [20, 120]) {
  void t.test(`${confirmations} behind, 4 to be final`, async (t) => {
    const chain = await startLittleChain(t, { slotsInAnEpoch: 2 })
    const player = new Player(chain, seed)
    for (let block = 0; block < 20; block += 1) {
      await player.play(3)
      await chain.mine()
    }
    await chain.mine(confirmations + 50)
    const source = createEvmSource(chain.network({ confirmations }))
    t.teardown(() => source.close())
    const index = new StepIndex()
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    const problems: string[] = []
    let mostHeaders = 0
    const options = { signal: stop.signal, onProblem: (said: string) => problems.push(said) }
    const following = (async () => {
      for await (const step of followChain(source, index.resumePoint(), options)) {
        index.apply(step)
        mostHeaders = Math.max(mostHeaders, index.headers.length)
      }
    })()
    for (let round = 0; round < 10; round += 1) {
      await chain.mine(2)
      const newest = Number(await chain.rpc('eth_blockNumber')) - confirmations
      for (let wait = 0; wait < 500 && index.finalized?.number !== newest; wait += 1)
        await new Promise((resolve) => setTimeout(resolve, 10))
    }
    stop.abort()
    await following
    t.same(index.finalized, index.position, 'what was indexed is final')
    t.equal(mostHeaders, 0, 'nothing needs to be remembered')
    await sameAsNode(t, index, chain, 'the blocks behind the head')
    t.ok(index.events.length > 0)
    t.same(problems, [])
  })
}
