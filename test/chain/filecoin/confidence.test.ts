import t from 'tap'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { networkOf } from './catch-up.ts'
import { chainLines, eventLines, keyAt } from './chain-truth.ts'
import { startChain, Traffic } from './traffic.ts'

/** More epochs are stayed behind the head than it takes a tipset to be final. */

const seed = String(testSeed(t))
t.setTimeout(120_000)

for (const [confidence, finalityEpochs] of [
  [20, 5],
  [20, 0],
  [120, 5],
  [900, null],
] as const) {
  void t.test(`${confidence} behind, ${finalityEpochs ?? '900 (no F3)'} to be final`, async (t) => {
    const lotus = await startChain(t, { seed, nullRoundChance: 0.1, finalityEpochs })
    const { chain } = lotus
    const traffic = new Traffic(lotus, seed)
    await traffic.begin()
    await traffic.play(40)
    await chain.mine(confidence + 150)
    const second = await startProxy(t, lotus.url)
    const source = createFilecoinSource(networkOf(lotus, { confidence, rpcUrls: [lotus.url, second.url] }))
    t.teardown(() => source.close())
    const index = new StepIndex()
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    const problems: string[] = []
    let mostHeaders = 0
    let rounds = 0
    let looksInVain = 0
    const newest = (): string => keyAt(chain, (chain.head().parent?.height ?? 0) - confidence)
    const options = {
      signal: stop.signal,
      onProblem: (said: string) => problems.push(said),
      onHead: () => {
        if (index.position?.hash !== newest()) return
        looksInVain = index.finalized?.hash === newest() ? 0 : looksInVain + 1
        if (rounds === 10 || looksInVain === 20) stop.abort()
        if (looksInVain > 0) return
        rounds += 1
        void chain.mine(2)
      },
    }
    for await (const step of followChain(source, index.resumePoint(), options)) {
      index.apply(step)
      mostHeaders = Math.max(mostHeaders, index.headers.length)
    }
    t.same(index.finalized, index.position, 'what was indexed is final')
    t.equal(mostHeaders, 0, 'nothing needs to be remembered')
    t.same(index.kindsBelow(), ['receipts'])
    t.same(eventLines(index.events), chainLines(chain, index.position?.number ?? 0))
    t.ok(index.events.length > 0)
    t.same(problems, [])
  })
}

void t.test('a final tipset above the newest one that is not on the branch of the head', async (t) => {
  const lotus = await startChain(t, { seed, finalityEpochs: 5 })
  await lotus.chain.mine(60)
  let said: unknown
  const proxy = await startProxy(t, lotus.url, async (requests, truth, _isBatch, upstream) => {
    said ??= await upstream.ask('Filecoin.ChainHead')
    const asked = requests.find(({ method }) => method === 'Filecoin.ChainGetFinalizedTipSet')
    if (asked === undefined || !isLying) return null
    return (await truth()).map((answer) => (answer.id === asked.id ? { id: asked.id, result: said } : answer))
  })
  let isLying = false
  const source = createFilecoinSource(networkOf(proxy, { confidence: 20 }))
  t.teardown(() => source.close())
  await source.head()
  lotus.chain.reorg(3)
  await lotus.chain.mine(5)
  isLying = true
  const head = await source.head()
  t.equal(await source.finalized(), null)
  isLying = false
  await source.head()
  t.same(await source.finalized(), { number: head.number, hash: head.hash })
})
