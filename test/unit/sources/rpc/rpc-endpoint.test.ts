import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as round } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { messageOf } from '../../../../shared/errors.ts'
import type { HttpAnswer } from '../../../../indexer/sources/rpc/http-exchange.ts'
import type { HttpPost } from '../../../../indexer/sources/rpc/http-post.ts'
import { RpcEndpoint, type RpcAnswer } from '../../../../indexer/sources/rpc/rpc-endpoint.ts'

/** What an endpoint at this path and query makes of an error with this message. */
async function told(t: Test, path: string, message: string, user = ''): Promise<RpcAnswer | undefined> {
  const server = createServer((request, response) => {
    request.resume()
    response.end(JSON.stringify({ id: 1, error: { code: -32000, message } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `http://${user}127.0.0.1:${port}${path}`
  const endpoint = new RpcEndpoint(url, {
    timeoutMs: 5_000,
    maxBatch: 1,
    maxConcurrent: 1,
    classify: () => 'other',
  })
  t.teardown(() => endpoint.close())
  const [answer] = await endpoint.send([{ method: 'eth_chainId', params: [] }])
  return answer
}

void t.test('a key with a percent sign is used, and is not shown however it is quoted', async (t) => {
  const message = 'key 50%off-abc (50%25off-abc) is not known'
  const answer = await told(t, '/?key=50%25off-abc', message, 'na%me:pass%word@')
  t.match(answer, { ok: false, message: 'key *** (***) is not known' })
  t.match(await told(t, '/v3/secret', `${'x'.repeat(296)}secret`), { message: /^x+\*\*\*$/ })
})

void t.test('what a provider says can be stored', async (t) => {
  const answer = await told(t, '/', `a\u0000b \ud83d ${'\u{1F600}'.repeat(200)}`)
  const message = answer?.ok === false ? answer.message : ''
  t.match(message, /^a b \u{FFFD} \u{1F600}/u)
  t.notMatch(message, /[\p{Cc}\p{Cs}]/u)
})

void t.test(
  'what is no JSON is told without a word of it: it may quote the key, and Postgres has no NUL',
  async (t) => {
    for (const [text, where] of [
      ['a\0b', ''],
      ['example/secret-key"}}', ''],
      ['[1,\u0001\ud83d', ''],
      ['{"secret-key":1,', /^, position \d+$/],
      ['{"secret-key":', ', unexpected end'],
    ] as const) {
      const endpoint = new RpcEndpoint('http://node.example/secret-key', {
        ...{ timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 1 },
        classify: () => 'other',
        connect: () => () => Promise.resolve({ status: 200, retryAfterMs: null, body: Buffer.from(text) }),
      })
      t.teardown(() => endpoint.close())
      const message = await endpoint.call('eth_chainId', []).then(String, messageOf)
      const [, told] = /^malformed JSON \(\d+ characters(.*)\)$/.exec(message) ?? []
      t.match(told, where, message)
      t.notMatch(message, /secret/)
    }
  },
)

void t.test(
  'of a long list each batch is taken before the next one is asked for, and failures do not repeat it',
  async (t) => {
    const told: string[] = []
    let failing = true
    const endpoint = new RpcEndpoint('http://node.example/', {
      ...{ timeoutMs: 5_000, maxBatch: 2, maxConcurrent: 1 },
      classify: () => 'other',
      connect: () => (body) => {
        const calls = [JSON.parse(body) as { id: number } | { id: number }[]].flat()
        told.push(`asked ${calls.length}`)
        const isFault = told.length === 4 && failing
        failing &&= !isFault
        const text = isFault ? 'no JSON' : JSON.stringify(calls.map(({ id }) => ({ id, result: `of ${id}` })))
        return Promise.resolve({ status: 200, retryAfterMs: null, body: Buffer.from(text) })
      },
    })
    t.teardown(() => endpoint.close())
    const calls = Array.from({ length: 5 }, () => ({ method: 'm', params: [] }))
    const taken = await endpoint.sendEach(calls, (answer, index) => {
      told.push(`took ${index}`)
      return answer.ok && index
    })
    t.same(taken, [0, 1, 2, 3, 4])
    t.same(told.slice(0, 4), ['asked 2', 'took 0', 'took 1', 'asked 2'])
    t.same(
      told.filter((word) => word.startsWith('took')),
      calls.map((_, index) => `took ${index}`),
    )
    t.equal(failing, false, 'one batch failed and was asked again')
  },
)

void t.test('answers that came together are read in different rounds of the event loop', async (t) => {
  const readIn: number[] = []
  let rounds = 0
  const endpoint = new RpcEndpoint('http://node.example', {
    ...{ timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 3 },
    classify: () => 'other',
    connect: () => (body) => Promise.resolve({ status: 200, retryAfterMs: null, body: Buffer.from(body) }),
    // What was asked comes back, and with it its id.
    parse: (text) => {
      readIn.push(rounds)
      return { ...(JSON.parse(text) as object), result: '0x1' }
    },
  })
  t.teardown(() => endpoint.close())
  const answers = Promise.all(['a', 'b', 'c'].map((method) => endpoint.call(method, [])))
  while (readIn.length < 3 && rounds < 100) {
    await round()
    rounds += 1
  }
  t.same(await answers, ['0x1', '0x1', '0x1'])
  t.equal(new Set(readIn).size, 3)
})

function endpointOf(t: Test, connect: () => HttpPost): RpcEndpoint {
  const endpoint = new RpcEndpoint('http://node.example', {
    ...{ timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 1, connect },
    classify: () => 'other',
  })
  t.teardown(() => endpoint.close())
  return endpoint
}

void t.test('the answer to another question is a fault, and an error is a failed call', async (t) => {
  const saying = (text: string) => (): Promise<HttpAnswer> =>
    Promise.resolve({ status: 200, retryAfterMs: null, body: Buffer.from(text) })
  const other = endpointOf(t, () => saying('{"jsonrpc":"2.0","id":99,"result":1}'))
  await t.rejects(other.call('m', []), { message: /another request's id/ })
  const refusing = endpointOf(t, () =>
    saying('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'),
  )
  await t.rejects(refusing.call('m', []), { message: 'm: no (-32000)' })
})

void t.test('a call that is answered by "slow down" is sent again; no id is used twice', async (t) => {
  const statuses = [429, 429, 200]
  const ids: number[] = []
  const endpoint = endpointOf(t, () => (body) => {
    const { id } = JSON.parse(body) as { id: number }
    ids.push(id)
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: [1] })
    // A refusal's body counts for nothing.
    return Promise.resolve({ status: statuses.shift() ?? 500, retryAfterMs: 1, body: Buffer.from(text) })
  })
  t.same(await endpoint.call('m', []), [1])
  t.same(ids, [1, 2, 3])
  statuses.push(429)
  await t.rejects(endpoint.call('m', [], { rateRetries: 0 }), { name: 'RateLimited' })
})
