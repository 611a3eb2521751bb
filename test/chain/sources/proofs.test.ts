import t from 'tap'
import { readAgain } from '../../../indexer/read-again.ts'
import { headersByHash, readWholeBlocks, type BlockLogs } from '../../../indexer/sources/evm/block-reader.ts'
import { createEvmClient } from '../../../indexer/sources/evm/evm-client.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { ChainRules, holdTo } from '../../../indexer/sources/evm/proof/chain-rules.ts'
import { headerHash } from '../../../indexer/sources/evm/proof/header-hash.ts'
import { watchedContracts } from '../../../indexer/sources/evm/watched-contracts.ts'
import { clientSettings } from '../../../indexer/sources/rpc/rpc-client.ts'
import { BadAnswer } from '../../../indexer/sources/rpc/rpc-error.ts'
import { createRandom } from '../../../devnet/evm/random.ts'
import { lyingAnswers, Refusal, type Fault, type Json } from '../../../devnet/faults/fault.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { eventually } from '../../helpers/programs.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { BLOCK_LIES, flipped, telling, type Target } from '../../lies/block-lies.ts'
import { catchUp } from './catch-up.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** One endpoint that tells the same lie about a block in all its answers, under the block's true hash. */

const seed = testSeed(t)
t.setTimeout(400_000)
const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, seed)
for (let block = 0; block < 24; block += 1) {
  await player.play(5)
  await chain.mine()
}
const head = Number(await chain.rpc('eth_blockNumber'))
const contracts = watchedContracts(chain.network())
const random = createRandom(String(seed))

const proxy = await startProxy(t, chain.url)
const client = createEvmClient([proxy.url], '31337', clientSettings('evm:31337', {}, 10_000))
t.teardown(() => client.close())
const rules = new ChainRules()
rules.believe({ headers: true, receipts: true, transactions: true })
holdTo(rules, client.others())

async function readBlock(hash: string): Promise<BlockLogs[]> {
  const [endpoint] = client.others()
  if (endpoint === undefined) throw new Error('one endpoint')
  return readWholeBlocks(endpoint, await headersByHash(endpoint, [hash]), contracts, () => false)
}

async function targets(): Promise<{ target: Target; truth: BlockLogs[] }[]> {
  proxy.fault = () => null
  const found: { target: Target; truth: BlockLogs[] }[] = []
  for (let number = 1; number <= head; number += 1) {
    const { hash } = (await chain.rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as {
      hash: string
    }
    const truth = await readBlock(hash)
    const receipts = (await chain.rpc('eth_getBlockReceipts', hash)) as Json[]
    for (const { logIndex, txHash } of truth[0]?.logs ?? [])
      found.push({ target: { hash, logIndex: `0x${logIndex.toString(16)}`, txHash, receipts }, truth })
  }
  return found
}

void t.test('where receipts are refused, the kind says that they were not seen', async (t) => {
  const [place] = await targets()
  if (place === undefined) throw new Error('no log')
  const refused = new Refusal(-32000, 'receipts are away')
  proxy.fault = lyingAnswers(['eth_getBlockReceipts', 'eth_getTransactionReceipt'], () => refused)
  t.match(await readBlock(place.target.hash), [{ check: 'bloom' }])
  proxy.fault = lyingAnswers(['eth_getBlockReceipts'], () => refused)
  t.same(await readBlock(place.target.hash), place.truth, 'receipts one by one prove as much')
})

void t.test(
  'receipts of a form of their own prove nothing where no rule is known, and are no lie',
  async (t) => {
    const [place] = await targets()
    if (place === undefined) throw new Error('no log')
    const [endpoint] = client.others()
    if (endpoint === undefined) throw new Error('one endpoint')
    proxy.fault = lyingAnswers(['eth_getBlockReceipts'], (result) =>
      (result as Json[]).map((receipt) => ({ ...receipt, type: '0xf0' })),
    )
    for (const known of [{ headers: true }, { headers: true, receipts: false }]) {
      const unknown = new ChainRules()
      unknown.believe(known)
      holdTo(unknown, [endpoint])
      t.match(await readBlock(place.target.hash), [{ check: 'bloom' }])
    }
    holdTo(rules, [endpoint])
    await t.rejects(readBlock(place.target.hash), BadAnswer)
  },
)

void t.test('a last transaction that the roots do not have, as on Polygon, is left out', async (t) => {
  const last = (list: unknown): Json => (list as Json[]).at(-1) ?? {}
  const [place] = await targets()
  if (place === undefined) throw new Error('no log')
  proxy.fault = lyingAnswers(['eth_getBlockReceipts', 'eth_getBlockByHash'], (result, { method, params }) => {
    if (method === 'eth_getBlockReceipts') return [...(result as Json[]), last(result)]
    const { transactions } = result as Json
    return params[1] === true
      ? { ...(result as Json), transactions: [...(transactions as Json[]), last(transactions)] }
      : undefined
  })
  t.same(await readBlock(place.target.hash), place.truth)
})

void t.test(
  'an endpoint that lies for a while is not followed, and is once it tells the truth',
  async (t) => {
    const places = (await targets()).slice(-20)
    const faults = Object.values(BLOCK_LIES).flatMap((make) =>
      places.map(({ target }) => telling(make(target, random), target.hash)),
    )
    const liar = await startProxy(t, chain.url)
    liar.fault = async (...asked) => {
      if (liar.faults >= 12) return null
      return (await random.pick(faults)(...asked)) ?? null
    }
    const index = new StepIndex()
    await catchUp(chain, index, { network: chain.network({ rpcUrls: [liar.url], maxBlockRange: 8 }) })
    await sameAsNode(t, index, chain, 'after the lies')
    t.ok(liar.faults >= 3, `${liar.faults} lies`)
  },
)

void t.test('verify reads the truth where the logs of a range are lies', async (t) => {
  const readAll = async (
    fault: Fault,
    isProven: boolean,
  ): Promise<{ events: ChainEvent[]; checks: string[] }> => {
    const liar = await startProxy(t, chain.url, fault)
    const source = createEvmSource(chain.network({ rpcUrls: [liar.url], maxBlockRange: 8 }))
    t.teardown(() => source.close())
    const final = await source.finalized()
    const events: ChainEvent[] = []
    const checks = new Set<string>()
    const span = { from: 0, to: head, final, isProven }
    for await (const reading of readAgain(source, span, AbortSignal.timeout(60_000))) {
      events.push(...reading.events)
      for (const { check } of reading.evidence) checks.add(check)
    }
    return { events, checks: [...checks].sort() }
  }
  const truth = await readAll(() => null, false)
  const changed = lyingAnswers(['eth_getLogs'], (result) =>
    (result as Json[]).map((log) => ({ ...log, transactionHash: flipped(String(log['transactionHash'])) })),
  )
  const verified = await readAll(changed, true)
  t.same(verified.events, truth.events)
  t.same(verified.checks, ['bloom', 'receipts'])
})

void t.test('a kind is lowered only where no endpoint proves more, and then with a word', async (t) => {
  const refused = new Refusal(-32601, 'the method does not exist')
  const refusing = lyingAnswers(['eth_getBlockReceipts', 'eth_getTransactionReceipt'], () => refused)
  const poor = await startProxy(t, chain.url)
  for (const [urls, kind, warnings] of [
    [[poor.url, chain.url], 'receipts', 0],
    [[poor.url], 'bloom', 1],
  ] as const) {
    poor.fault = () => null
    const said: string[] = []
    const network = chain.network({ rpcUrls: [...urls] })
    const source = createEvmSource(network, { report: (_level, message) => said.push(message) })
    t.teardown(() => source.close())
    await source.check()
    source.believeRules?.({ headers: true, receipts: true, transactions: true })
    const [place] = await targets()
    if (place === undefined) throw new Error('no log')
    poor.fault = refusing
    const number = place.truth[0]?.logs[0]?.blockNumber ?? -1
    const { evidence } = await source.readBlocks(await source.headers(number, number))
    t.same(
      evidence.map(({ check }) => check),
      [kind],
    )
    t.equal(said.filter((line) => line.includes('of a weaker kind')).length, warnings, said.join('; '))
  }
})

void t.test('an endpoint without eth_getBlockReceipts is asked for them once', async (t) => {
  let asked = 0
  const poor = await startProxy(
    t,
    chain.url,
    lyingAnswers(['eth_getBlockReceipts'], () => {
      asked += 1
      return new Refusal(-32601, 'the method does not exist')
    }),
  )
  const source = createEvmSource(chain.network({ rpcUrls: [poor.url] }))
  t.teardown(() => source.close())
  for (const { target, truth } of (await targets()).slice(0, 5)) {
    const number = truth[0]?.logs[0]?.blockNumber ?? -1
    const { evidence } = await source.readBlocks(await source.headers(number, number))
    t.match(evidence, [{ check: 'receipts' }], `${target.hash}: receipts one by one prove as much`)
  }
  t.equal(asked, 1)
})

void t.test('near the newest final block', async (t) => {
  const readRecent = async (rpcUrls: string[]) => {
    const source = createEvmSource(chain.network({ rpcUrls }))
    t.teardown(() => source.close())
    const to = (await source.finalized())?.number ?? 0
    const { events, evidence } = await source.readRange(Math.max(0, to - 12), to)
    return { events, checks: new Set(evidence.map(({ check }) => check)) }
  }
  const truth = await readRecent([chain.url])
  t.ok(truth.events.length > 5, `${truth.events.length} events`)

  await t.test('two endpoints that agree are proven by receipts as well', async (t) => {
    const other = await startProxy(t, chain.url)
    const both = await readRecent([chain.url, other.url])
    t.same(both.events, truth.events)
    t.ok(both.checks.has('receipts'), 'the better of both')
    t.same(
      [...both.checks].filter((check) => check !== 'receipts' && check !== 'two'),
      [],
    )
  })

  await t.test('a node that numbers logs in its own way is read, numbered by the receipts', async (t) => {
    const numbering = lyingAnswers(['eth_getLogs'], (result) =>
      (result as Json[]).map((log) => ({
        ...log,
        logIndex: `0x${(Number(log['logIndex']) + 7).toString(16)}`,
      })),
    )
    const own = await startProxy(t, chain.url, numbering)
    t.same((await readRecent([own.url])).events, truth.events)
    const { events } = await readRecent([own.url, chain.url])
    t.same(events, truth.events, 'also beside one that numbers them from 0')
  })
})

void t.test('headers that hash from a fork on are held to the rule from there on', async (t) => {
  const fork = Math.floor(head / 2)
  const before = lyingAnswers(['eth_getBlockByNumber', 'eth_getBlockByHash'], (result) => {
    const block = result as Json | null
    return block !== null && Number(block['number']) < fork ? { ...block, extraData: '0x1234' } : undefined
  })
  const forked = await startProxy(t, chain.url, before)
  const said: string[] = []
  const network = chain.network({ rpcUrls: [forked.url] })
  const source = createEvmSource(network, { report: (_level, message) => said.push(message) })
  t.teardown(() => source.close())
  await source.check()
  t.match(source.chainRules?.(), { headers: fork })
  t.match(said.join('; '), `from block ${fork} on`)
  await t.resolves(source.headers(0, head), 'older headers are no lie')
  const index = new StepIndex()
  await catchUp(chain, index, { network })
  await sameAsNode(t, index, chain, 'over the fork')
  const strong = index.evidence.filter(({ to, check }) => to < fork && check === 'receipts')
  t.same(strong, [], 'nothing is claimed before it')
  t.ok(index.evidence.some(({ from, check }) => from >= fork && check === 'receipts'))
})

const HEADERS = ['eth_getBlockByNumber', 'eth_getBlockByHash']

void t.test('an invented header of one endpoint teaches no rule where there are others', async (t) => {
  const ownRule = lyingAnswers(HEADERS, (result) =>
    result === null ? undefined : { ...(result as Json), extraData: '0x1234' },
  )
  const invented = lyingAnswers(['eth_getBlockByNumber'], (result) => {
    if (result === null) return undefined
    const block = { ...(result as Json), extraData: '0x5678' }
    return { ...block, hash: headerHash(block) }
  })
  const liar = await startProxy(t, chain.url, invented)
  const honest = await startProxy(t, chain.url, ownRule)
  const said: string[] = []
  const network = chain.network({ rpcUrls: [honest.url, liar.url] })
  const source = createEvmSource(network, { report: (_level, message) => said.push(message) })
  t.teardown(() => source.close())
  await source.check().catch(() => undefined)
  await source.head().catch(() => undefined)
  t.same(source.chainRules?.(), {})
  t.match(said.join('; '), /one endpoint alone gives headers that hash/)
  liar.fault = ownRule
  await t.resolves(source.headers(0, head), 'the true headers are believed')
})

void t.test('a rule is known once two endpoints name the same block', async (t) => {
  const [one, other] = [await startProxy(t, chain.url), await startProxy(t, chain.url)]
  const away = lyingAnswers(HEADERS, () => new Refusal(-32000, 'away'))
  other.fault = away
  const network = chain.network({ rpcUrls: [one.url, other.url] })
  const source = createEvmSource(network)
  t.teardown(() => source.close())
  await source.check().catch(() => undefined)
  t.same(source.chainRules?.(), {})
  // The hash is enough: only a header of the chain's rule hashes to it.
  other.fault = lyingAnswers(HEADERS, (result) =>
    result === null ? undefined : { ...(result as Json), extraData: '0x1234' },
  )
  await eventually('the rule is known', async () => {
    await source.head().catch(() => undefined)
    return source.chainRules?.()['headers'] !== undefined
  })
  other.fault = () => null
  await eventually('all rules are known', async () => {
    await source.check().catch(() => undefined)
    return source.chainRules?.()['headers'] === true && source.chainRules()['receipts'] === true
  })
})
