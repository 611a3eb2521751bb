import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { createRandom } from '../../../devnet/evm/random.ts'
import { startLotus, type Lotus } from '../../../devnet/filecoin/lotus.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, newestHeight, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain, Traffic } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(400_000)
/** So rare that only what the node tells leads on. */
const POLL_INTERVAL_MS = 60_000

/** Whether the index comes to stand at the chain's newest executed tipset, in less time than the node is polled. */
async function isThere(index: StepIndex, { chain }: Lotus): Promise<boolean> {
  const started = performance.now()
  const target = keyAt(chain, newestHeight(chain))
  while (index.position?.hash !== target && performance.now() - started < POLL_INTERVAL_MS / 2) await delay(5)
  return index.position?.hash === target
}

void t.test('new tipsets are told by the node, and again after it was away', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const options = { tickMs: null, statePath: join(folder, 'lotus'), seed }
  let lotus = await startLotus(options)
  const { port } = lotus
  t.teardown(() => lotus.stop())
  await lotus.chain.mine(3)
  const said: string[] = []
  const source = createFilecoinSource(networkOf(lotus, { pollIntervalMs: POLL_INTERVAL_MS }), {
    report: (_level, message) => said.push(message),
  })
  const index = new StepIndex()
  const stop = new AbortController()
  const following = (async () => {
    for await (const step of followChain(source, index.resumePoint(), { signal: stop.signal }))
      index.apply(step)
  })()
  t.teardown(() => stop.abort())
  t.ok(await isThere(index, lotus), 'from the start')
  await delay(300)
  for (let round = 0; round < 5; round += 1) {
    await lotus.chain.mine()
    t.ok(await isThere(index, lotus), `round ${round}`)
  }
  await lotus.stop()
  await delay(200)
  lotus = await startLotus({ ...options, port })
  await lotus.chain.mine(4)
  t.ok(await isThere(index, lotus), 'after it was away')
  await delay(1_500)
  await lotus.chain.mine()
  t.ok(await isThere(index, lotus), 'told again')
  t.match(said.join('\n'), /closed the subscription/)
  stop.abort()
  await following
  await source.close()
  sameAsChain(t, index, lotus, 'in the end')
})

void t.test('following a chain that moves all the time', async (t) => {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.15 })
  const { chain } = lotus
  const random = createRandom(`${seed}/moves`)
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  const index = new StepIndex()
  const source = createFilecoinSource(networkOf(lotus))
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const following = (async () => {
    for await (const step of followChain(source, index.resumePoint(), { signal: stop.signal }))
      index.apply(step)
  })()
  for (let round = 0; round < 40; round += 1) {
    await traffic.play(random.int(0, 4))
    await chain.mine(random.int(1, 2))
    if (random.chance(0.3) && chain.head().height > 25) {
      chain.reorg(random.int(1, 20), { drop: 0.3, reorder: random.chance(0.5) })
    }
    await delay(random.int(0, 30))
  }
  await chain.mine()
  await isThere(index, lotus)
  stop.abort()
  await following
  await source.close()
  sameAsChain(t, index, lotus, `after ${index.reorgs} reorgs`)
})

void t.test('stopped after any step, it goes on where it stood', async (t) => {
  const lotus = await startChain(t, { seed, nullRoundChance: 0.2 })
  const { chain } = lotus
  const random = createRandom(`${seed}/stops`)
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  const index = new StepIndex()
  let stops = 0
  for (let round = 0; round < 25; round += 1) {
    await traffic.play(random.int(0, 5))
    await chain.mine(random.int(1, 6))
    if (random.chance(0.4) && chain.head().height > 25) chain.reorg(random.int(1, 15), { reorder: true })
    const source = createFilecoinSource(networkOf(lotus))
    const stop = new AbortController()
    let left = random.int(0, 2)
    const late = setTimeout(() => stop.abort(), 400)
    for await (const step of followChain(source, index.resumePoint(), {
      signal: stop.signal,
      maxTipBlocks: 3,
    })) {
      index.apply(step)
      stops += 1
      if (left === 0) break
      left -= 1
    }
    clearTimeout(late)
    await source.close()
  }
  await chain.mine()
  await catchUp(lotus, index)
  t.ok(stops > 20)
  sameAsChain(t, index, lotus, 'in the end')
})

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
