import t from 'tap'
import type { Test } from 'tap'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import type { Lotus } from '../../../devnet/filecoin/lotus.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy, type Answer, type Fault, type Proxy, type Request } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { startBusyChain, startChain, Traffic } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(400_000)

type Json = Record<string, unknown>

/** The true answers, each changed by `change` where that returns something else than null. */
function answering(change: (method: string, result: unknown, params: unknown[]) => unknown): Fault {
  return async (requests: Request[], truth: () => Promise<Answer[]>) =>
    (await truth()).map((answer) => {
      const request = requests.find(({ id }) => id === answer.id)
      if (request === undefined || answer.result === undefined) return answer
      const changed = change(request.method.replace('Filecoin.', ''), answer.result, request.params)
      return changed === null ? answer : withAnswer(answer.id, changed)
    })
}

function withAnswer(id: number, changed: unknown): Answer {
  return changed instanceof Error
    ? { id, error: { code: 1, message: changed.message } }
    : { id, result: changed }
}

async function busyChain(t: Test): Promise<Lotus> {
  const lotus = await startBusyChain(t, seed, { epochs: 40, messages: 3, nullRoundChance: 0.2 })
  lotus.chain.nullRound(7)
  await lotus.chain.mine(2)
  return lotus
}

void t.test('nodes that answer a null round with an error, and know no height after another', async (t) => {
  const lotus = await busyChain(t)
  const forest = await startProxy(
    t,
    lotus.url,
    answering((method, result, [height]) => {
      if (method === 'ChainGetTipSetAfterHeight') return new Error(`method '${method}' not found`)
      if (method !== 'ChainGetTipSetByHeight') return null
      return (result as Json)['Height'] === height ? null : new Error(`null round at ${String(height)}`)
    }),
  )
  const index = new StepIndex()
  const problems: string[] = []
  await catchUp(lotus, index, { network: networkOf(forest), problems })
  sameAsChain(t, index, lotus, 'by parents alone')
  t.same(problems, [])
  t.ok(forest.faults > 0)
})

void t.test('a node that takes no batches is asked one by one', async (t) => {
  const lotus = await startChain(t, { seed })
  await lotus.chain.mine(5)
  const single = await startProxy(t, lotus.url, (_requests, _truth, isBatch) =>
    isBatch ? { status: 400, body: '{"error":{"code":-32600,"message":"no batches"},"id":null}' } : null,
  )
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(single) })
  sameAsChain(t, index, lotus, 'without batches')
})

/** Faults of one endpoint; the other one is as it should be. */
const LIES: [string, Fault, RegExp][] = [
  [
    'a receipt is missing',
    answering((method, result) =>
      method === 'ChainGetParentReceipts' && Array.isArray(result) && result.length > 1
        ? result.slice(1)
        : null,
    ),
    /messages and .* receipts/,
  ],
  [
    'another amount in a message',
    answering((method, result) => {
      if (method !== 'ChainGetParentMessages' || !Array.isArray(result)) return null
      return result.map((item: { Cid: unknown; Message: Json }) => ({
        Cid: item.Cid,
        Message: { ...item.Message, Value: '123456789' },
      }))
    }),
    /its content is of/,
  ],
  [
    'a tipset of other parents',
    answering((method, result) =>
      method === 'ChainGetTipSet' || method === 'ChainGetTipSetByHeight'
        ? { ...(result as Json), Cids: [{ '/': 'bafy2bzacebogus' }] }
        : null,
    ),
    /tipset/,
  ],
  [
    'another time',
    answering((method, result) => {
      if (method !== 'ChainHead') return null
      const { Blocks: blocks, ...rest } = result as { Blocks: Json[] }
      return { ...rest, Blocks: blocks.map((block) => ({ ...block, Timestamp: 5 })) }
    }),
    /time|epoch/,
  ],
  ['HTML', () => ({ status: 502, body: '<html>' }), /502/],
  ['half an answer', () => ({ body: '[{"id":1,' }), /JSON/],
  ['nothing at all', () => 'hang', /no answer within/],
]

void t.test('whatever one endpoint does, the index is the chain', async (t) => {
  const lotus = await busyChain(t)
  for (const [what, fault, said] of LIES) {
    const liar = await startProxy(t, lotus.url, fault)
    const reports: string[] = []
    const index = new StepIndex()
    await catchUp(lotus, index, {
      network: networkOf(lotus, { rpcUrls: [liar.url, lotus.url] }),
      requestTimeoutMs: 500,
      secondPatienceMs: 500,
      report: (_level, message) => reports.push(message),
    })
    sameAsChain(t, index, lotus, what)
    t.match(reports.join('\n'), said, `${what}: told`)
  }
})

void t.test('an endpoint that leaves out messages with their receipts is found out alone', async (t) => {
  const lotus = await busyChain(t)
  await lotus.chain.mine(35)
  const withoutLast = answering((method, result) =>
    /ParentMessages|ParentReceipts/.test(method) && Array.isArray(result) ? result.slice(0, -1) : null,
  )
  const liar = await startProxy(t, lotus.url, withoutLast)
  const index = new StepIndex()
  const reports: string[] = []
  await catchUp(lotus, index, {
    network: networkOf(lotus, { rpcUrls: [lotus.url, liar.url] }),
    secondPatienceMs: 500,
    report: (_level, message) => reports.push(message),
  })
  sameAsChain(t, index, lotus, 'beside a liar')
  t.match(reports.join('\n'), /receipts of the tipset at \d+ are not those under/)
  t.ok(index.evidence.length > 0)
  t.same(index.kindsBelow(), ['receipts'])
})

void t.test('of two that contradict each other, the one that then fails is put aside', async (t) => {
  const lotus = await busyChain(t)
  const to = Math.floor(lotus.chain.head().height / 2)
  const isOfMessages = ({ method }: Request): boolean => /ParentMessages|ParentReceipts/.test(method)
  for (const fault of [{ status: 502, body: '' }, { body: '[{"id":1,' }]) {
    const reports: string[] = []
    const first = await startProxy(t, lotus.url)
    const leavesOut = answering((method, result) =>
      /ParentMessages|ParentReceipts/.test(method) && Array.isArray(result) ? result.slice(0, -1) : null,
    )
    const second = await startProxy(t, lotus.url, leavesOut)
    const source = createFilecoinSource(networkOf(lotus, { rpcUrls: [first.url, second.url] }), {
      report: (_level, message) => reports.push(message),
    })
    t.teardown(() => source.close())
    await source.head()
    // The first one is asked again once the second one has contradicted it.
    const asked = new Set<string>()
    first.fault = (requests) => {
      for (const request of requests.filter(isOfMessages)) {
        const question = JSON.stringify([request.method, request.params])
        if (asked.has(question)) second.fault = (later) => (later.some(isOfMessages) ? fault : null)
        asked.add(question)
      }
      return null
    }
    await t.rejects(source.readRange(1, to), RetryableError)
    t.match(reports, [new RegExp(`^filecoin:testnet: ${new URL(second.url).origin} is put aside`)])
    t.equal(reports.length, 1, 'and nobody else')
  }
})

void t.test('an endpoint that is behind holds nothing up and takes nothing back', async (t) => {
  const options = { seed, genesisTimeS: 1_700_000_000, nullRoundChance: 0.1 }
  const [lotus, lagging] = [await startChain(t, options), await startChain(t, options)]
  const [ahead, behind] = [new Traffic(lotus, seed), new Traffic(lagging, seed)]
  await ahead.begin()
  await behind.begin()
  const network = networkOf(lotus, { rpcUrls: [lagging.url, lotus.url] })
  const index = new StepIndex()
  for (let round = 0; round < 6; round += 1) {
    for (const [chain, traffic] of [
      [lotus, ahead],
      [lagging, behind],
    ] as const) {
      await traffic.play(4)
      await chain.chain.mine(chain === lotus && round === 0 ? 9 : 5)
    }
    await catchUp(lotus, index, { network })
    sameAsChain(t, index, lotus, `round ${round}`)
  }
  t.equal(index.reorgs, 0)
})

void t.test('a node on another branch than the final one takes nothing back', async (t) => {
  const options = { seed, genesisTimeS: 1_700_000_000 }
  const [lotus, other] = [await startChain(t, options), await startChain(t, options)]
  await lotus.chain.mine(50)
  const index = new StepIndex()
  await catchUp(lotus, index)
  t.ok((index.finalized?.number ?? 0) > 10)
  other.chain.nullRound()
  await other.chain.mine(80)
  await lotus.chain.mine(5)
  const reports: string[] = []
  await catchUp(lotus, index, {
    network: networkOf(lotus, { rpcUrls: [other.url, lotus.url] }),
    report: (_level, message) => reports.push(message),
  })
  sameAsChain(t, index, lotus, 'the branch that was final')
  t.equal(index.reorgs, 0)
  t.match(reports.join('\n'), /is put aside .* is final/)
})

void t.test('a token is needed, is sent, and is never shown', async (t) => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.secret-token'
  const lotus = await startChain(t, { seed, token, readToken: 'reader-token-abcdef' })
  await lotus.chain.mine(4)
  const said: string[] = []
  const open = (given: string | null, proxy?: Proxy): ReturnType<typeof createFilecoinSource> => {
    const source = createFilecoinSource(networkOf(proxy ?? lotus, { token: given }), {
      report: (_level, message) => said.push(message),
    })
    t.teardown(() => source.close())
    return source
  }
  await t.rejects(
    open(null).check(),
    new PermanentError(
      'filecoin:testnet: every endpoint wants a token, and none is configured (permission "read" is enough)',
    ),
  )
  await t.rejects(open('wrong-token-123456').check(), /every endpoint wants another token/)
  await t.resolves(open(token).check())
  await t.resolves(open('reader-token-abcdef').check())
  const quoting = await startProxy(t, lotus.url, (requests) =>
    requests.map(({ id }) => ({ id, error: { code: 1, message: `token ${token} is odd` } })),
  )
  await t.rejects(open(token, quoting).head(), /token \*\*\* is odd/)
  t.notMatch(said.join('\n'), /secret-token|abcdef|123456/)
})

void t.test('a node of another network is never used', async (t) => {
  const mainnet = await startChain(t, { seed, networkName: 'mainnet' })
  await mainnet.chain.mine(3)
  const source = createFilecoinSource(networkOf(mainnet))
  await t.rejects(source.check(), /wrong network: expected testnet, found mainnet/)
  await t.rejects(source.head(), PermanentError)
  await source.close()
  const lotus = await startChain(t, { seed })
  const other = await startChain(t, { seed: `${seed} other` })
  await lotus.chain.mine(3)
  await other.chain.mine(9)
  const reports: string[] = []
  const index = new StepIndex()
  await catchUp(lotus, index, {
    network: networkOf(lotus, { rpcUrls: [lotus.url, mainnet.url, other.url] }),
    report: (_level, message) => reports.push(message),
  })
  sameAsChain(t, index, lotus, 'the first endpoint’s chain')
})
