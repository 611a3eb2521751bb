import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { asOfBlocksAgo, stoppedAt } from '../../../devnet/faults/evm-lies.ts'
import { lyingAnswers, Refusal, type Fault } from '../../../devnet/faults/fault.ts'
import { headerHash } from '../../../indexer/sources/evm/proof/header-hash.ts'
import { createEvmSource, type EvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy, type Proxy } from './faulty-proxy.ts'
import { Player, startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** Two endpoints of one chain, the first of which does not go on as the chain does. */

const seed = testSeed(t)
t.setTimeout(120_000)

const DAY_MS = 86_400_000
const STILL_AFTER_MS = 300
const systemClock = Date.now
const shiftClock = (byMs: number): void => void (Date.now = () => systemClock() + byMs)
t.afterEach(() => shiftClock(0))

/** An endpoint, and how often it was asked for its head. */
interface Endpoint {
  proxy: Proxy
  fault: Fault
  looks: number
}

async function startEndpoint(t: Test, chain: LittleChain): Promise<Endpoint> {
  const proxy = await startProxy(t, chain.url, (requests, ...rest) => {
    if (requests.some(({ params }) => params[0] === 'latest')) endpoint.looks += 1
    return endpoint.fault(requests, ...rest)
  })
  const endpoint: Endpoint = { proxy, fault: () => null, looks: 0 }
  return endpoint
}

async function numberOf(chain: LittleChain, tag: string): Promise<number> {
  const block = (await chain.rpc('eth_getBlockByNumber', tag, false)) as { number: string }
  return Number(block.number)
}

async function stop(chain: LittleChain, endpoint: Endpoint): Promise<number> {
  const latest = await numberOf(chain, 'latest')
  endpoint.fault = stoppedAt(latest, await numberOf(chain, 'finalized'))
  return latest
}

async function startPlayed(
  t: Test,
): Promise<{ chain: LittleChain; play: (blocks: number) => Promise<void> }> {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  const play = async (blocks: number): Promise<void> => {
    for (let block = 0; block < blocks; block += 1) {
      await player.play(2)
      await chain.mine()
    }
  }
  await play(10)
  return { chain, play }
}

const openSource = (t: Test, chain: LittleChain, rpcUrls: string[], said: string[]): EvmSource => {
  const source = createEvmSource(chain.network({ rpcUrls }), {
    report: (_, text) => said.push(text),
    stillAfterMs: STILL_AFTER_MS,
  })
  t.teardown(() => source.close())
  return source
}

async function until(t: Test, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: waited in vain`)
    await sleep(20)
  }
  t.pass(what)
}

interface Followed {
  index: StepIndex
  said: string[]
  problems: string[]
  isAtHead: () => Promise<boolean>
}

/** Follows the chain through these endpoints until the test ends. */
function follow(t: Test, chain: LittleChain, endpoints: readonly Endpoint[]): Followed {
  const [index, said, problems]: [StepIndex, string[], string[]] = [new StepIndex(), [], []]
  const source = openSource(
    t,
    chain,
    endpoints.map(({ proxy }) => proxy.url),
    said,
  )
  const ending = new AbortController()
  const run = async (): Promise<void> => {
    const options = { signal: ending.signal, onProblem: (message: string) => problems.push(message) }
    for await (const step of followChain(source, index.resumePoint(), options)) index.apply(step)
  }
  const following = run()
  t.teardown(async () => {
    ending.abort()
    await following
  })
  const isAtHead = async (): Promise<boolean> => index.position?.number === (await numberOf(chain, 'latest'))
  return { index, said, problems, isAtHead }
}

for (const [clock, byMs] of Object.entries({ right: 0, slow: -DAY_MS, fast: DAY_MS })) {
  void t.test(`a node that stopped syncing holds nothing up, by a ${clock} clock`, async (t) => {
    const { chain, play } = await startPlayed(t)
    const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
    shiftClock(byMs)
    const { index, said, problems, isAtHead } = follow(t, chain, [first, second])
    await until(t, 'both are well', isAtHead)
    const stoppedAtBlock = await stop(chain, first)
    for (let round = 0; round < 4; round += 1) {
      await play(5)
      await until(t, `round ${round}: the index is at the head`, isAtHead)
      await sameAsNode(t, index, chain, `round ${round}`)
    }
    await chain.rpc('anvil_reorg', 2, [])
    await play(3)
    await until(t, 'a reorg that the first does not see', isAtHead)
    await until(t, 'blocks are final that the first has not', () => {
      return (index.finalized?.number ?? 0) > stoppedAtBlock
    })
    const looks = first.looks
    await sleep(4 * STILL_AFTER_MS)
    t.ok(first.looks - looks <= 5, `it is asked ${first.looks - looks} times whether it has caught up`)
    t.match(said, [/127.0.0.1:\d+ is behind: its head \d+ is \d+ below another endpoint’s/], 'told once')
    t.ok(said[0]?.includes(`${first.proxy.url} is behind: its head ${stoppedAtBlock} is`), 'by its label')
    t.same(problems, [])

    first.fault = () => null
    await until(t, 'it has caught up', () => said.length > 1)
    t.match(said.slice(1), [/^evm:31337: .* has caught up: its head is \d+$/])
    const asked = first.looks
    await play(2)
    await until(t, 'and is asked as before', async () => (await isAtHead()) && first.looks > asked + 5)
    await sameAsNode(t, index, chain, 'both are well again')
    t.equal(said.length, 2)
  })
}

void t.test('what became final while the first stood still is caught up with after a restart', async (t) => {
  const { chain, play } = await startPlayed(t)
  const first = await startEndpoint(t, chain)
  const network = chain.network({ rpcUrls: [first.proxy.url, chain.url] })
  const index = new StepIndex()
  await catchUp(chain, index, { network })
  await stop(chain, first)
  await play(40)
  const problems: string[] = []
  const options = { stillAfterMs: STILL_AFTER_MS, secondPatienceMs: 500, problems }
  await catchUp(chain, index, { network, ...options, signal: AbortSignal.timeout(30_000) })
  await sameAsNode(t, index, chain, 'after a restart')
  t.ok((index.finalized?.number ?? 0) >= (await numberOf(chain, 'finalized')) - 1)
})

/** What the second endpoint, which alone has the blocks, says of every loan. */
const said = {
  'no longer has the state': new Refusal(-32000, 'missing trie node 0123'),
  'says of every loan that there is none': '0x',
}
for (const [what, answer] of Object.entries(said)) {
  void t.test(`a node that ${what}, where the other lacks the blocks, holds nothing up`, async (t) => {
    const { chain, play } = await startPlayed(t)
    const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
    const { index, said, problems, isAtHead } = follow(t, chain, [first, second])
    await until(t, 'both are well', isAtHead)
    await stop(chain, first)
    await play(1)
    await until(t, 'the first is behind', isAtHead)
    second.fault = lyingAnswers(['eth_call'], () => answer)
    await play(4)
    await until(t, 'the index is at the head', isAtHead)
    await sameAsNode(t, index, chain, what)
    t.same(problems, [])
    t.match(said[0], /is behind/)
  })
}

void t.test('who is behind has not caught up because it is asked in the place of the other', async (t) => {
  const { chain, play } = await startPlayed(t)
  const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
  const { said, isAtHead } = follow(t, chain, [first, second])
  await until(t, 'both are well', isAtHead)
  await stop(chain, first)
  await play(3)
  await until(t, 'the first is behind', () => said.length > 0)
  let looks = 0
  second.fault = lyingAnswers(['eth_getBlockByNumber'], (_, { params: [tag] }) =>
    tag === 'latest' && (looks += 1) % 3 > 0 ? new Refusal(-32000, 'busy') : undefined,
  )
  await play(3)
  await sleep(6 * STILL_AFTER_MS)
  await until(t, 'the index is at the head', isAtHead)
  t.notMatch(said.join('\n'), /caught up/)
})

void t.test('where all go on the first alone is asked', async (t) => {
  const { chain, play } = await startPlayed(t)
  const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
  const said: string[] = []
  const source = createEvmSource(chain.network({ rpcUrls: [first.proxy.url, second.proxy.url] }), {
    report: (_, text) => said.push(text),
  })
  t.teardown(() => source.close())
  await source.head()
  const { requests } = first.proxy
  for (let block = 0; block < 20; block += 1) {
    await play(1)
    t.equal((await source.head()).number, await numberOf(chain, 'latest'))
  }
  t.equal(first.proxy.requests - requests, 20, 'one request a look')
  t.equal(second.proxy.requests, 1, 'it names the block by which the first one showed the rule of headers')
  t.same(said, [])
})

void t.test(
  'while the chain stands still the other is asked now and then, and nobody is behind',
  async (t) => {
    const { chain, play } = await startPlayed(t)
    const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
    const said: string[] = []
    const source = openSource(t, chain, [first.proxy.url, second.proxy.url], said)
    const startMs = performance.now()
    const look = async (): Promise<void> => {
      await source.head()
      await sleep(10)
    }
    while (second.looks < 4) await look()
    const periods = (performance.now() - startMs) / STILL_AFTER_MS
    t.ok(second.looks <= periods, `${second.looks} times in ${periods.toFixed(1)} periods`)
    t.ok(first.looks > 2 * second.looks, `the first ${first.looks} times`)
    await play(3)
    t.equal((await source.head()).number, await numberOf(chain, 'latest'))
    t.same(said, [])
  },
)

void t.test('a node that goes on far behind the others is found out', async (t) => {
  const { chain, play } = await startPlayed(t)
  await play(40)
  const first = await startEndpoint(t, chain)
  first.fault = asOfBlocksAgo(12)
  const said: string[] = []
  const source = openSource(t, chain, [first.proxy.url, chain.url], said)
  // It is as if the chain's newest blocks were of a day ago: that the first grows does not say that it is at the head.
  shiftClock(DAY_MS)
  await until(t, 'the head is the other’s', async () => {
    await play(1)
    return (await source.head()).number === (await numberOf(chain, 'latest'))
  })
  t.match(said, [/is behind: its head \d+ is 1\d below/])
})

void t.test('a head without the blocks below it is not taken', async (t) => {
  const { chain } = await startPlayed(t)
  const [first, second] = [await startEndpoint(t, chain), await startEndpoint(t, chain)]
  const head = await numberOf(chain, 'latest')
  second.fault = lyingAnswers(['eth_getBlockByNumber'], (result, { params: [tag] }) => {
    const header = { ...(result as object), number: '0xfffff' }
    return tag === 'latest' ? { ...header, hash: headerHash(header) } : undefined
  })
  const said: string[] = []
  const source = openSource(t, chain, [first.proxy.url, second.proxy.url], said)
  while (second.looks < 3) {
    t.equal((await source.head()).number, head)
    await sleep(100)
  }
  t.match(said.join('\n'), new RegExp(`${second.proxy.url} is put aside .* has no block ${head + 1}`))
  t.notMatch(said.join('\n'), /is behind/)
})
