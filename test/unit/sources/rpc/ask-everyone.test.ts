import t, { type Test } from 'tap'
import { askEveryone } from '../../../../indexer/sources/rpc/ask-everyone.ts'
import type { HttpPost } from '../../../../indexer/sources/rpc/http-post.ts'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'
import type { RpcAnswer } from '../../../../indexer/sources/rpc/rpc-endpoint.ts'
import { EndpointFault, WrongChain } from '../../../../indexer/sources/rpc/rpc-error.ts'
import { RetryableError } from '../../../../shared/errors.ts'

/** What an endpoint does with a question. */
type Manner = 'answers' | 'pruned' | 'refuses' | 'is away' | 'is rate limited' | 'is of another chain'

const SAYS: Partial<Record<Manner, object>> = {
  answers: { result: 'state' },
  pruned: { error: { code: 1, message: 'pruned' } },
  refuses: { error: { code: 1, message: 'internal error' } },
}
const PRUNED = { ok: false, kind: 'pruned', code: 1, message: 'pruned' }
const STATE = { ok: true, result: 'state' }
const PATIENCE_MS = 1_200

interface Network {
  client: RpcClient
  /** How each endpoint behaves now, and how often it was asked. */
  endpoints: { manner: Manner; asked: number }[]
  said: string[]
  question: () => Promise<RpcAnswer>
}

function networkOf(t: Test, ...manners: Manner[]): Network {
  const endpoints = manners.map((manner) => ({ manner, asked: 0 }))
  const said: string[] = []
  const urls = manners.map((_, index) => `http://node-${index}.example`)
  const post =
    (url: string): HttpPost =>
    (body) => {
      const { id } = JSON.parse(body) as { id: number }
      const endpoint = endpoints[urls.indexOf(url)]
      if (endpoint === undefined) throw new Error(`nobody is at ${url}`)
      endpoint.asked += 1
      if (endpoint.manner === 'is away') return Promise.reject(new EndpointFault('nobody is there'))
      const text = JSON.stringify({ jsonrpc: '2.0', id, ...SAYS[endpoint.manner] })
      const isLimited = endpoint.manner === 'is rate limited'
      return Promise.resolve({ status: isLimited ? 429 : 200, retryAfterMs: 0, body: Buffer.from(text) })
    }
  const client = new RpcClient(urls, {
    ...{ network: 'test:1', timeoutMs: 1_000, maxBatch: 10, maxConcurrent: 3, patienceMs: PATIENCE_MS },
    identity: { what: 'chain id', expected: '1' },
    classify: (_, message) => (message === 'pruned' ? 'pruned' : 'other'),
    connect: post,
    verify: ({ label }) => {
      const isOther = endpoints[urls.indexOf(label)]?.manner === 'is of another chain'
      return isOther ? Promise.reject(new WrongChain('chain id 2', '2')) : Promise.resolve()
    },
    report: (_, message) => said.push(message),
  })
  t.teardown(() => client.close())
  const question = async (): Promise<RpcAnswer> => {
    const [answer] = await askEveryone(client, 'question', ['state'], {
      send: (endpoint, calls) => endpoint.send(calls.map((method) => ({ method, params: [] }))),
      nameOf: (method) => `${method}/`,
      open: ['pruned'],
    })
    if (answer === undefined) throw new Error('no answer')
    return answer
  }
  return { client, endpoints, said, question }
}

const asked = ({ endpoints }: Network): number[] => endpoints.map((endpoint) => endpoint.asked)

void t.test('who is well is asked once', async (t) => {
  const two = networkOf(t, 'pruned', 'answers')
  t.match(await two.question(), STATE)
  t.same(asked(two), [1, 1])
  const first = networkOf(t, 'answers', 'pruned')
  t.match(await first.question(), STATE)
  t.same(asked(first), [1, 0])
  const none = networkOf(t, 'pruned', 'pruned', 'pruned')
  t.match(await none.question(), PRUNED)
  t.same(asked(none), [1, 1, 1], 'and what all of them say stands at once')
  const alone = networkOf(t, 'pruned', 'is of another chain')
  t.match(await alone.question(), PRUNED, 'nobody waits for another chain')
  t.same(alone.said.length, 1)
})

for (const manner of ['is away', 'is rate limited'] as const) {
  void t.test(`one that ${manner} for good holds up a question for a while, and then none`, async (t) => {
    const network = networkOf(t, 'pruned', manner, 'pruned')
    const [, other = { manner, asked: 0 }] = network.endpoints
    const startMs = performance.now()
    t.match(await network.question(), PRUNED)
    t.ok(performance.now() - startMs >= PATIENCE_MS, 'it was waited for')
    t.ok(other.asked > 1, 'and asked again')
    const told = (): string[] => network.said.filter((message) => !message.includes('is put aside'))
    t.match(told(), [/^test:1: .* unknown until http:\/\/node-1.example answers: test:1: question/])
    const before = asked(network)
    t.match(await network.question(), PRUNED)
    t.equal(told().length, 1, 'nobody waited in vain again')
    const more = asked(network).map((count, index) => count - (before[index] ?? 0))
    t.same([more[0], more[2]], [1, 1])

    other.manner = 'answers'
    while (!network.client.available().some(({ label }) => label.includes('node-1')))
      await new Promise((resolve) => setTimeout(resolve, 20))
    t.match(await network.question(), STATE, 'it is asked where it is there')
    other.manner = manner
    setTimeout(() => (other.manner = 'answers'), 100)
    t.match(await network.question(), STATE, 'and waited for again once it has answered')
  })
}

void t.test('one that refuses without an answer leaves the question open', async (t) => {
  const network = networkOf(t, 'pruned', 'refuses')
  await t.rejects(network.question(), RetryableError)
  t.same(asked(network), [1, 1], 'at once')
  await t.rejects(network.question(), /internal error/)
})

void t.test('a client that is closed gives nobody up', async (t) => {
  const network = networkOf(t, 'pruned', 'is away')
  setTimeout(() => network.client.close(), 100)
  await t.rejects(network.question(), RetryableError)
})
