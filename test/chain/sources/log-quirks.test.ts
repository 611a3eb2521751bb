import t from 'tap'
import { lyingAnswers, refusal, Refusal, type Fault, type Json } from '../../../devnet/faults/fault.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/**
 * Chains and nodes whose blooms or logs are not as they should be, but from which all can be read by another way. Their
 * headers do not hash by Ethereum's rule, so that nothing is proven by receipts.
 */

t.setTimeout(180_000)
const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, testSeed(t))
for (let block = 0; block < 24; block += 1) {
  await player.play(5)
  await chain.mine()
}
const head = Number(await chain.rpc('eth_blockNumber'))

const EMPTY = `0x${'00'.repeat(256)}`
const FULL = `0x${'ff'.repeat(256)}`
const BLOCKS = ['eth_getBlockByNumber', 'eth_getBlockByHash']

const blooms = (bloom: string, isOne: (number: number) => boolean = () => true): Fault =>
  lyingAnswers(BLOCKS, (block) =>
    block !== null && isOne(Number((block as Json)['number']))
      ? { ...(block as Json), logsBloom: bloom }
      : undefined,
  )

/** A chain with a rule of its own for the hash of a header. */
const ownRule: Fault = lyingAnswers(BLOCKS, (block) =>
  block === null ? undefined : { ...(block as Json), extraData: '0x1234' },
)

const logs = (change: (log: Json, at: number) => Json): Fault =>
  lyingAnswers(['eth_getLogs'], (result) => (result as Json[]).map(change))

const perTransaction = (): Fault =>
  lyingAnswers(['eth_getLogs'], (result) => {
    const counts = new Map<unknown, number>()
    return (result as Json[]).map((log) => {
      const at = counts.get(log['transactionHash']) ?? 0
      counts.set(log['transactionHash'], at + 1)
      return { ...log, logIndex: `0x${at.toString(16)}` }
    })
  })

const noBlockHash = (answer: unknown): Fault =>
  lyingAnswers(['eth_getLogs'], (_, { params: [filter] }) =>
    (filter as Json)['blockHash'] === undefined ? undefined : answer,
  )

const without = (method: string): Fault =>
  lyingAnswers([method], () => new Refusal(-32601, `the method ${method} does not exist`))

const both =
  (...faults: Fault[]): Fault =>
  async (requests, truth, ...rest) => {
    let answers = truth
    let isFault = false
    for (const fault of faults) {
      const before = answers
      const reply = await fault(requests, before, ...rest)
      if (!Array.isArray(reply)) continue
      answers = () => Promise.resolve(reply)
      isFault = true
    }
    return isFault ? answers() : null
  }

async function readThrough(fault: Fault): Promise<{ index: StepIndex; said: string[]; ms: number }> {
  const proxy = await startProxy(t, chain.url, fault)
  const [index, said]: [StepIndex, string[]] = [new StepIndex(), []]
  const startMs = performance.now()
  await catchUp(chain, index, {
    network: chain.network({ rpcUrls: [proxy.url], maxBlockRange: 8 }),
    report: (_, message) => said.push(message),
    signal: AbortSignal.timeout(30_000),
  })
  return { index, said, ms: Math.round(performance.now() - startMs) }
}

const nullForNone = lyingAnswers(['eth_getLogs'], (found) =>
  (found as unknown[]).length === 0 ? null : undefined,
)

const QUIRKS: [name: string, fault: Fault, checks: string[]][] = [
  ['an empty bloom at the head', blooms(EMPTY, (number) => number === head), ['one', 'receipt-list']],
  ['empty blooms', blooms(EMPTY), ['one', 'receipt-list']],
  [
    'empty blooms, receipts one by one',
    both(blooms(EMPTY), without('eth_getBlockReceipts')),
    ['one', 'receipt-list'],
  ],
  ['full blooms', blooms(FULL), ['receipt-list']],
  ['logs without an index', logs(({ logIndex: _, ...log }) => log), ['one', 'receipt-list']],
  ['logs that all have the index 0', logs((log) => ({ ...log, logIndex: '0x0' })), ['one', 'receipt-list']],
  ['logs numbered in each transaction', perTransaction(), ['one', 'receipt-list']],
  ['no filter blockHash', noBlockHash(new Refusal(-32602, 'unknown field blockHash')), ['one']],
  ['a filter blockHash that is ignored', noBlockHash([]), ['one']],
  ['null for no logs', nullForNone, ['one']],
]

for (const [name, fault, checks] of QUIRKS) {
  void t.test(name, async (t) => {
    const { index, said, ms } = await readThrough(both(ownRule, fault))
    t.comment(`${name}: ${ms} ms, ${index.events.length} events`)
    t.equal(index.position?.number, head, 'the head is reached')
    await sameAsNode(t, index, chain, name)
    const found = [...new Set(index.evidence.map(({ check }) => check))].sort()
    t.same(found, checks)
    const lines = said.filter((message) => message.includes('are read by their receipts'))
    t.equal(lines.length, checks.includes('receipt-list') ? 1 : 0, said.join('; '))
  })
}

void t.test('logs that blooms and receipts do not bear out are not taken', async (t) => {
  const nothing = lyingAnswers(['eth_getLogs'], () => null)
  for (const [name, fault] of Object.entries({
    'null, where the bloom names us': nothing,
    'none, where bloom and receipts say otherwise': both(blooms(EMPTY), nothing),
    'no receipts at all': both(
      blooms(EMPTY),
      without('eth_getBlockReceipts'),
      without('eth_getTransactionReceipt'),
    ),
  })) {
    const proxy = await startProxy(t, chain.url, both(ownRule, fault))
    const source = createEvmSource(chain.network({ rpcUrls: [proxy.url] }))
    t.teardown(() => source.close())
    await t.rejects(source.check(), { message: /the logs of block \d+ cannot be read: / }, name)
    const found = await source.headers(1, head)
    await t.rejects(source.readBlocks(found), { message: /its logs do not make its bloom/ }, name)
  }
})

void t.test(
  'a chain that is as it should be is asked only for receipts of blocks that may have our logs',
  async (t) => {
    const asked = new Map<unknown, number>()
    const { index } = await readThrough((requests) => {
      for (const { method, params } of requests)
        if (method.includes('Receipt')) asked.set(`${method} ${String(params[0])}`, 1)
      return null
    })
    t.equal(index.position?.number, head)
    const withEvents = new Set(index.events.map(({ blockHash }) => blockHash))
    t.ok(asked.size >= withEvents.size && asked.size <= head, `${asked.size} of ${withEvents.size}`)
    t.same([...new Set(index.evidence.map(({ check }) => check))].sort(), ['bloom', 'receipts'])
  },
)

void t.test('null for the logs of a range that nobody would check is checked by blooms', async (t) => {
  const withoutBatches =
    (fault: Fault): Fault =>
    (requests, truth, isBatch, upstream) =>
      isBatch && requests.length > 1
        ? { status: 400, body: refusal(null, -32600, 'no batches') }
        : fault(requests, truth, isBatch, upstream)
  const checkOf = async (fault: Fault, number: number): Promise<string | undefined> => {
    const proxy = await startProxy(t, chain.url, withoutBatches(fault))
    const source = createEvmSource(chain.network({ rpcUrls: [proxy.url] }))
    t.teardown(() => source.close())
    // The endpoint shows that it takes no batches: its headers are dear.
    await source.headers(1, 24)
    return (await source.readRange(number, number)).evidence[0]?.check
  }
  t.equal(await checkOf(() => null, 0), 'one')
  t.equal(await checkOf(nullForNone, 0), 'bloom')
  const nothing = lyingAnswers(['eth_getLogs'], () => null)
  await t.rejects(checkOf(nothing, head), { message: /of our logs, not all in its range's answer/ })
})
