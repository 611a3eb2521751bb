import t from 'tap'
import type { Test } from 'tap'
import type { RangeRead } from '../../../indexer/sources/chain-source.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import { createRandom } from '../../../devnet/evm/random.ts'
import { chanceFrom, type Chance, type FaultKind } from '../../../devnet/faults/fault.ts'
import { everyFault, evmFaults, survivable } from '../../../devnet/faults/weather.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy, type Fault, type Proxy } from './faulty-proxy.ts'
import { Player, startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

const seed = testSeed(t)
t.setTimeout(400_000)

async function startLivelyChain(t: Test): Promise<LittleChain> {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  const random = seededRandom(seed)
  for (let block = 0; block < 32; block += 1) {
    await player.play(random.below(4))
    await chain.mine()
  }
  return chain
}

/** Every fault happens at least once, once the source has begun to read. */
function chanceOf(name: string, proxy: Proxy): Chance {
  const { now, below } = chanceFrom(createRandom(`${seed}/${name}`))
  const isDue = (): boolean => proxy.faults === 0 && proxy.requests > 8
  return { now: (probability) => now(probability) || isDue(), below }
}

/** Nothing in the little chain's reading gives these an occasion. */
const NO_OCCASION = ['another transaction', 'a head behind what is final']

void t.test('whatever one endpoint does, the index is the chain', { timeout: 390_000 }, async (t) => {
  const chain = await startLivelyChain(t)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const suffer = async (name: string, { make, isSlow = false }: FaultKind): Promise<void> => {
    const index = new StepIndex()
    const proxy = await startProxy(t, chain.url)
    proxy.fault = make(chanceOf(name, proxy))
    const network = chain.network({ rpcUrls: [proxy.url], maxBlockRange: 50 })
    const start = Date.now()
    const requestTimeoutMs = isSlow ? 1_000 : 10_000
    await catchUp(chain, index, { network, requestTimeoutMs, signal: stop.signal })
    await sameAsNode(t, index, chain, name)
    t.comment(`${name}: ${proxy.faults} of ${proxy.requests} requests, ${Date.now() - start} ms`)
    if (!NO_OCCASION.includes(name)) t.ok(proxy.faults > 0, `${name}: it happened`)
  }
  const kinds = survivable(evmFaults, { witness: false, slow: true })
  const all: FaultKind = {
    make: everyFault(survivable(evmFaults, { witness: false, slow: false })),
    seenBy: 'visible',
  }
  const faults = Object.entries({ ...kinds, 'all of it': all })
  while (faults.length > 0) await Promise.all(faults.splice(0, 9).map(([name, make]) => suffer(name, make)))
})

/** Every final range, with what a second endpoint says. */
function wasCompared(t: Test, { evidence, finalized }: StepIndex): void {
  const backfill = evidence.filter(({ to }) => to <= (finalized?.number ?? 0))
  t.ok(backfill.length > 0)
  t.ok(
    backfill.every(({ check }) => check === 'two' || check === 'receipts'),
    'every final range was compared',
  )
}

void t.test('an endpoint that leaves any log out is found out by the other', async (t) => {
  const chain = await startLivelyChain(t)
  const leaky = await startProxy(t, chain.url)
  const leaks = ['one log of a range missing', 'one log of a block missing', 'no logs at all']
  const faults = leaks.flatMap((kind) => evmFaults[kind]?.make(chanceOf(kind, leaky)) ?? [])
  leaky.fault = async (...asked) => {
    for (const fault of faults) {
      const reply = await fault(...asked)
      if (reply !== null) return reply
    }
    return null
  }
  const index = new StepIndex()
  const network = chain.network({ rpcUrls: [leaky.url, chain.url], maxBlockRange: 50 })
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  await catchUp(chain, index, { network, signal: stop.signal })
  await sameAsNode(t, index, chain, 'a leaky endpoint first')
  t.ok(leaky.faults > 0)
  t.ok(
    index.evidence.every(({ check }) => check !== 'one'),
    'nothing went unchecked',
  )

  const honest = await startProxy(t, chain.url)
  const agreed = new StepIndex()
  await catchUp(chain, agreed, {
    network: chain.network({ rpcUrls: [honest.url, chain.url], maxBlockRange: 50 }),
  })
  await sameAsNode(t, agreed, chain, 'two honest endpoints')
  wasCompared(t, agreed)
})

void t.test('what two endpoints contradict each other about is never taken unchecked', async (t) => {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  for (let block = 0; block < 6; block += 1) {
    await player.play(8)
    await chain.mine()
  }
  // Of two logs of one kind in one block, the bloom cannot tell that one is missing.
  const withoutTwins = await startProxy(t, chain.url, async (requests, truth) => {
    if (requests[0]?.method !== 'eth_getLogs') return null
    return (await truth()).map((answer) => ({ ...answer, result: onePerBlockAndKind(answer.result) }))
  })
  const network = chain.network({ rpcUrls: [withoutTwins.url, chain.url], maxBlockRange: 50 })
  const source = createEvmSource(network)
  t.teardown(() => source.close())
  await source.check()
  const { number } = await source.head()
  for (let attempt = 0; attempt < 4; attempt += 1) {
    await t.rejects(
      source.readRange(network.erc20Loans?.startBlock ?? 0, number),
      /the blooms do not tell which/,
    )
  }
})

/** Each log names this as its block's time; with undefined none, as nodes did before they told it. */
const logsAt =
  (blockTimestamp: string | undefined): Fault =>
  async (requests, truth) => {
    if (requests[0]?.method !== 'eth_getLogs') return null
    return (await truth()).map((answer) => {
      if (!Array.isArray(answer.result)) return answer
      return { ...answer, result: answer.result.map((log: object) => ({ ...log, blockTimestamp })) }
    })
  }

/** Reads everything from two endpoints with these faults; how many headers each was asked for, the fewer first. */
async function headersAsked(
  t: Test,
  chain: LittleChain,
  faults: readonly [Fault | null, Fault | null],
): Promise<{ read: RangeRead; counts: number[] }> {
  const asked = [0, 0]
  const counting = (at: number): Promise<Proxy> =>
    startProxy(t, chain.url, (...sent) => {
      const [requests] = sent
      asked[at] = (asked[at] ?? 0) + requests.filter(({ method }) => method === 'eth_getBlockByNumber').length
      return faults[at]?.(...sent) ?? null
    })
  const rpcUrls = [(await counting(0)).url, (await counting(1)).url]
  const source = createEvmSource(chain.network({ rpcUrls }))
  t.teardown(() => source.close())
  await source.check()
  const { number } = await source.head()
  const before = [...asked]
  const read = await source.readRange(1, number)
  t.match(read.evidence, [{ check: 'two' }])
  const counts = asked.map((count, at) => count - (before[at] ?? 0)).sort((left, right) => left - right)
  return { read, counts }
}

void t.test(
  'of blocks with logs no header is asked for where two endpoints’ logs tell the same times',
  async (t) => {
    const chain = await startLivelyChain(t)
    const told = await headersAsked(t, chain, [null, null])
    t.ok(told.read.cuts.length > 10, `${told.read.cuts.length} blocks with logs`)
    t.same(told.counts, [2, 2], 'both ends of the range')
    const [untold, false_] = [logsAt(undefined), logsAt('0x1')]
    const faults = [untold, false_].flatMap((fault) => [
      [fault, null] as const,
      [null, fault] as const,
      [fault, fault] as const,
    ])
    for (const pair of faults) {
      const { read, counts } = await headersAsked(t, chain, pair)
      t.same([read.cuts, read.events], [told.read.cuts, told.read.events], 'the headers tell the times')
      t.same(counts, [2, 2 + told.read.cuts.length], 'one endpoint’s headers, and no more')
    }
  },
)

/** The logs of the first block that has any name another one. */
const ofAnotherBlock: Fault = async (requests, truth) => {
  if (requests[0]?.method !== 'eth_getLogs') return null
  return (await truth()).map((answer) => {
    if (!Array.isArray(answer.result)) return answer
    const logs = answer.result as { blockNumber: string }[]
    const result = logs.map((log) =>
      log.blockNumber === logs[0]?.blockNumber ? { ...log, blockHash: `0x${'e1'.repeat(32)}` } : log,
    )
    return { ...answer, result }
  })
}

void t.test('a second endpoint whose logs are of other blocks is found out', async (t) => {
  const chain = await startLivelyChain(t)
  const liar = await startProxy(t, chain.url, ofAnotherBlock)
  const said: string[] = []
  const index = new StepIndex()
  await catchUp(chain, index, {
    network: chain.network({ rpcUrls: [chain.url, liar.url], maxBlockRange: 50 }),
    secondPatienceMs: 500,
    report: (_, message) => said.push(message),
  })
  await sameAsNode(t, index, chain, 'one of two endpoints gives logs of another block')
  const told = said.filter((message) =>
    /gives \d+ logs, .* gives \d+; .* a log of another block$/.test(message),
  )
  t.ok(told.length > 0, 'what its own headers contradict is its fault')
  t.same(
    said.filter((message) => message.includes(`${chain.url} is put aside`)),
    [],
    'and not the other’s',
  )
  t.ok(
    index.evidence.every(({ check }) => check !== 'one'),
    'nothing went unchecked',
  )
})

void t.test('who contradicts its own headers is put aside also where no bloom tells', async (t) => {
  const chain = await startLivelyChain(t)
  await chain.mine(64)
  /** Headers of a chain with a rule of its own for their hash, which cannot tell of a changed bloom. */
  const headers =
    (change: object): Fault =>
    async (requests, truth) => {
      if (requests[0]?.method.startsWith('eth_getBlockBy') !== true) return null
      return (await truth()).map((answer) => ({
        ...answer,
        result: { ...(answer.result as object), extraData: '0x1234', ...change },
      }))
    }
  const full = await startProxy(t, chain.url, headers({ logsBloom: `0x${'ff'.repeat(256)}` }))
  const liar = await startProxy(t, chain.url, (...asked) =>
    asked[0][0]?.method === 'eth_getLogs' ? ofAnotherBlock(...asked) : headers({})(...asked),
  )
  const said: string[] = []
  const network = chain.network({ rpcUrls: [full.url, liar.url] })
  const source = createEvmSource(network, { report: (_, message) => said.push(message) })
  t.teardown(() => source.close())
  await source.check()
  const { number } = await source.head()
  await t.rejects(source.readRange(1, number), /the blooms do not tell which/)
  const aside = said.filter((message) => message.includes('is put aside'))
  t.match(aside, [new RegExp(`^evm:31337: ${liar.url} is put aside for .*a log of another block$`)])
})

void t.test('a second endpoint that is away for a moment is waited for', async (t) => {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  for (let block = 0; block < 16; block += 1) {
    await player.play(8)
    await chain.mine()
  }
  let away = 5
  const shaky = await startProxy(t, chain.url, () => (away-- > 0 ? { status: 502, body: '' } : null))
  // As long as nobody is there to contradict it, it leaves out what no bloom tells.
  const withoutTwins = await startProxy(t, chain.url, async (requests, truth) => {
    if (requests[0]?.method !== 'eth_getLogs' || away <= 0) return null
    return (await truth()).map((answer) => ({ ...answer, result: onePerBlockAndKind(answer.result) }))
  })
  const index = new StepIndex()
  const network = chain.network({ rpcUrls: [withoutTwins.url, shaky.url], maxBlockRange: 50 })
  await catchUp(chain, index, { network })
  await sameAsNode(t, index, chain, 'the one that was there leaves twins out')
  wasCompared(t, index)
})

void t.test('of three endpoints one may be dead, and every final range is compared', async (t) => {
  const chain = await startLivelyChain(t)
  const dead = await startProxy(t, chain.url, () => ({ status: 502, body: '' }))
  const honest = await startProxy(t, chain.url)
  const index = new StepIndex()
  const problems: string[] = []
  const network = chain.network({ rpcUrls: [dead.url, honest.url, chain.url], maxBlockRange: 4 })
  await catchUp(chain, index, { network, problems })
  await sameAsNode(t, index, chain, 'one of three endpoints is dead')
  wasCompared(t, index)
  t.same(problems, [], 'and no range fails')
})

void t.test('a second endpoint that is away for good is done without', async (t) => {
  const chain = await startLivelyChain(t)
  const dead = await startProxy(t, chain.url, () => ({ status: 502, body: '' }))
  const index = new StepIndex()
  const network = chain.network({ rpcUrls: [dead.url, chain.url], maxBlockRange: 50 })
  await catchUp(chain, index, { network, secondPatienceMs: 2_000 })
  await sameAsNode(t, index, chain, 'one of two endpoints is dead')
  t.ok(
    index.evidence.every(({ check }) => check !== 'one'),
    'checked against blooms and receipts',
  )
})

void t.test('a second endpoint that was done without is asked again once it is back', async (t) => {
  const chain = await startLivelyChain(t)
  const index = new StepIndex()
  const back = await startProxy(t, chain.url, () =>
    index.evidence.length < 3 ? { status: 502, body: '' } : null,
  )
  const slow = await startProxy(t, chain.url, () => ({ afterMs: 200 }))
  const network = chain.network({ rpcUrls: [back.url, slow.url], maxBlockRange: 1 })
  await catchUp(chain, index, { network, secondPatienceMs: 100 })
  await sameAsNode(t, index, chain, 'the other endpoint came back')
  t.match(index.evidence[0], { check: 'bloom' }, 'done without')
  t.ok(
    index.evidence.some(({ check }) => check === 'two'),
    'and then not',
  )
})

function onePerBlockAndKind(logs: unknown): unknown {
  if (!Array.isArray(logs)) return logs
  const seen = new Set<string>()
  return logs.filter((log: { blockNumber?: unknown; topics?: unknown[] }) => {
    const kind = `${String(log.blockNumber)} ${String(log.topics?.[0])}`
    const isFirst = !seen.has(kind)
    seen.add(kind)
    return isFirst
  })
}

void t.test('an endpoint of another chain is never used', async (t) => {
  const chain = await startLivelyChain(t)
  const foreign = await startProxy(t, chain.url, async (requests, truth) =>
    requests[0]?.method === 'eth_chainId'
      ? (await truth()).map((answer) => ({ ...answer, result: '0x1' }))
      : null,
  )
  const said: string[] = []
  const index = new StepIndex()
  await catchUp(chain, index, {
    network: chain.network({ rpcUrls: [foreign.url, chain.url] }),
    report: (_, message) => said.push(message),
  })
  await sameAsNode(t, index, chain, 'an endpoint of another chain')
  t.match(said, [/asked for nothing until it is of the right chain: chain id 1, expected 31337/])
  t.equal(foreign.requests, 1, 'nothing but its chain id was asked')
})

void t.test('an endpoint without the contracts is put aside while another has them', async (t) => {
  const chain = await startLittleChain(t)
  const codeless: Fault = async (requests, truth) =>
    requests[0]?.method === 'eth_getCode'
      ? (await truth()).map((answer) => ({ ...answer, result: '0x' }))
      : null
  const behind = await startProxy(t, chain.url, codeless)
  const said: string[] = []
  const check = async (...rpcUrls: string[]): Promise<void> => {
    const source = createEvmSource(chain.network({ rpcUrls }), { report: (_, message) => said.push(message) })
    await source.check().finally(() => source.close())
  }
  await check(behind.url, chain.url)
  t.match(said.join(), new RegExp(`${behind.url} is put aside for .*: no code at ${chain.loans}`, 'i'))
  const alsoBehind = await startProxy(t, chain.url, codeless)
  await t.rejects(check(behind.url, alsoBehind.url), PermanentError, 'all of them say so')
  const broken = await startProxy(t, chain.url, (requests) =>
    requests[0]?.method === 'eth_getCode'
      ? { body: JSON.stringify({ id: requests[0].id, error: { code: -32603, message: 'internal error' } }) }
      : null,
  )
  await t.rejects(check(behind.url, broken.url), RetryableError, 'the other may know better')
})

void t.test('what is wrong is said in one line, without the token', async (t) => {
  const chain = await startLittleChain(t)
  const check = async (changes: Parameters<typeof chain.network>[0]): Promise<unknown> => {
    const source = createEvmSource(chain.network(changes))
    const start = Date.now()
    const error: unknown = await source.check().then(
      () => null,
      (reason: unknown) => reason,
    )
    t.ok(Date.now() - start < 60_000, 'soon')
    await source.close()
    return error
  }
  const silent = await startProxy(t, chain.url, () => 'hang')
  const unanswered = check({ rpcUrls: [silent.url] })
  t.equal(await check({}), null)
  const wrong = await check({ networkId: '5' })
  t.type(wrong, PermanentError)
  t.match(String(wrong), /wrong chain id: expected 5, found 31337 at endpoint 1 \(http:\/\/127/)
  const nobody = `0x${'12'.repeat(20)}`
  const empty = await check({ erc20Loans: { address: nobody, startBlock: 0, idPrefix: null } })
  t.type(empty, PermanentError)
  t.match(String(empty), /no code at 0x12121212.* \(erc20Loans\) on chain 31337/)
  const token = 'https-token-0123456789'
  const away = await check({ rpcUrls: [`http://user:${token}@127.0.0.1:4/v3/${token}?key=${token}`] })
  t.type(away, RetryableError)
  t.match(String(away), /http:\/\/127\.0\.0\.1:4\): ECONNREFUSED/)
  t.notMatch(String(away), token)
  const talkative = await startProxy(t, chain.url, (requests) => ({
    body: JSON.stringify({
      id: requests[0]?.id,
      error: { code: -32000, message: `project ${token} is not allowed` },
    }),
  }))
  const told = await check({ rpcUrls: [`${talkative.url}/v3/${token}`] })
  t.type(told, RetryableError)
  t.match(String(told), /project \*\*\* is not allowed/)
  t.match(String(await unanswered), /no endpoint answered within 10000 ms/)
})
