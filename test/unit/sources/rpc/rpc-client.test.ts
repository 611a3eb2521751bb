import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A client of endpoints at these paths of one host. */
async function clientOf(t: Test, paths: readonly string[], answer: Answer): Promise<RpcClient> {
  const server = createServer((request, response) => {
    request.resume()
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = new RpcClient(
    paths.map((path) => `http://127.0.0.1:${port}${path}`),
    {
      ...{ network: 'evm:1', timeoutMs: 5_000, maxBatch: 1, maxConcurrent: 1, classify: () => 'other' },
      ...{ identity: { what: 'chain id', expected: '1' }, verify: () => Promise.resolve() },
      report: () => undefined,
    },
  )
  t.teardown(() => client.close())
  return client
}

const ask = (client: RpcClient): Promise<unknown> =>
  client.read('head', (endpoint) => endpoint.call('head', []), { attempts: 2 })

void t.test('a failure is told of each endpoint, also where they have one host', async (t) => {
  const client = await clientOf(t, ['/key-of-one', '/key-of-two'], ({ url }, response) => {
    response.statusCode = url === '/key-of-one' ? 500 : 502
    response.end()
  })
  await t.rejects(ask(client), {
    message:
      /^evm:1: head: endpoint 1 \(http:\/\/127\S+\): HTTP 500; endpoint 2 \(http:\/\/127\S+\): HTTP 502$/,
  })
})

void t.test('who failed does not hide who is put aside at the same host', async (t) => {
  const client = await clientOf(t, ['/key-of-one', '/key-of-two'], (_, response) => {
    response.statusCode = 500
    response.end()
  })
  const [, two] = client.available()
  if (two === undefined) throw new Error('there are two')
  for (let times = 0; times < 3; times += 1) client.distrust(two, 'it lies')
  const one = client.read('head', (endpoint) => endpoint.call('head', []), { attempts: 1 })
  await t.rejects(one, {
    message: /: HTTP 500; endpoint \d \(http:\/\/127\S+\): put aside$/,
    endpoints: [1, 2],
  })
})

void t.test('who asked to be left alone is not said to be put aside', async (t) => {
  const client = await clientOf(t, ['/secret-key'], (_, response) => {
    response.writeHead(429, { 'retry-after': '60' }).end()
  })
  await t.rejects(ask(client), { message: /^evm:1: head: endpoint 1 \(http:\/\/127\S+\): HTTP 429$/ })
  await t.rejects(ask(client), {
    message:
      /^evm:1: head: endpoint 1 \(http:\/\/127[^/]+\): rate limited: it asked to be left alone for (60|[1-5]\d) s more$/,
  })
})
