import t from 'tap'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, newestHeight, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain, Traffic } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(400_000)

/** A node before which requests and the calls in them are counted. */
async function countedChain(t: Parameters<typeof startProxy>[0]) {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.1 })
  const count = { requests: 0, calls: 0, looks: 0 }
  const proxy = await startProxy(t, lotus.url, (requests) => {
    count.requests += 1
    count.calls += requests.length
    if (requests.some(({ method }) => method === 'Filecoin.ChainHead')) count.looks += 1
    return null
  })
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  return { lotus, proxy, count, traffic }
}

void t.test('requests per tipset in backfill', async (t) => {
  const { lotus, proxy, count } = await countedChain(t)
  await lotus.chain.mine(2_000)
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(proxy) })
  sameAsChain(t, index, lotus, 'backfill')
  const perTipset = count.requests / 2_000
  t.comment(
    `${count.requests} requests, ${count.calls} calls for 2000 tipsets: ${perTipset} requests a tipset`,
  )
  t.ok(perTipset < 0.1, 'many tipsets share a request')
  t.ok(count.calls / 2_000 < 4, 'two calls for what ran, one for each height and little else')
})

void t.test('requests of a full range of final tipsets', async (t) => {
  const { lotus, proxy, count } = await countedChain(t)
  await lotus.chain.mine(2_000)
  const source = createFilecoinSource(networkOf(proxy))
  t.teardown(() => source.close())
  const width = source.maxBlockRange
  for (let from = 500; from < 500 + 4 * width; from += width) {
    const before = count.requests
    await source.readRange(from, from + width - 1)
    // Until it is known how few messages tipsets have, these are asked for a few at a time.
    if (from > 500 + width) t.equal(count.requests - before, 3, 'one of tipsets and two of messages')
  }
})

void t.test('requests per tipset at the head', async (t) => {
  const { lotus, proxy, count, traffic } = await countedChain(t)
  await lotus.chain.mine(40)
  const index = new StepIndex()
  // The proxy speaks no WebSocket: each tipset is found by the poll that comes after it.
  const source = createFilecoinSource(networkOf(proxy, { pollIntervalMs: 500 }))
  await catchUp(lotus, index, { network: networkOf(proxy) })
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const quiet: number[] = []
  const busy: number[] = []
  const following = (async () => {
    for await (const step of followChain(source, index.resumePoint(), { signal: stop.signal }))
      index.apply(step)
  })()
  await delay(300)
  for (let tipset = 0; tipset < 16; tipset += 1) {
    if (tipset % 2 === 1) await traffic.play(10)
    await lotus.chain.mine()
    const before = { ...count, height: index.position?.number ?? 0 }
    const target = keyAt(lotus.chain, newestHeight(lotus.chain))
    for (let wait = 0; wait < 200 && index.position?.hash !== target; wait += 1) await delay(10)
    await delay(60)
    if (index.position?.number === before.height) continue
    const ours = index.events.some(({ blockNumber }) => blockNumber > before.height)
    // One look finds the tipset, one finds nothing more; further ones are only the poll of a slow machine.
    const polls = Math.max(0, count.looks - before.looks - 2)
    ;(ours ? busy : quiet).push(count.requests - before.requests - polls)
  }
  stop.abort()
  await following
  await source.close()
  sameAsChain(t, index, lotus, 'at the head')
  t.comment(
    `requests per tipset: ${quiet.join(' ')} with nothing of ours, ${busy.join(' ')} with ten messages`,
  )
  t.ok(Math.max(...quiet) <= 3, 'three for a tipset')
  t.ok(Math.max(...busy) <= 5, 'and two more for who its parties are and when channels settle')
})

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
