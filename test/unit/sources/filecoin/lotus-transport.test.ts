import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  createLotusClient,
  glifPost,
  type LotusClient,
} from '../../../../indexer/sources/filecoin/lotus-client.ts'
import pLimit from 'p-limit'
import { BodyRoom } from '../../../../indexer/sources/rpc/read-body.ts'
import type { FilecoinNetwork } from '../../../../shared/config/networks.ts'

interface Call {
  id: number
  method: string
}

function tipset(height: number): object {
  const parents = height === 0 ? [] : [{ '/': `bafy2bzaceparent${height}` }]
  const block = { Height: height, Parents: parents, Timestamp: 1_600_000_000 + height * 30, Note: 'läßt' }
  return { Cids: [{ '/': `bafy2bzacetipset${height}` }], Blocks: [block], Height: height }
}

const RESULTS: Record<string, unknown> = {
  StateNetworkName: 'calibrationnet',
  ChainGetGenesis: tipset(0),
  ChainHead: tipset(2),
  Version: { BlockDelay: 30 },
}

/** The JSON that a node of two tipsets answers with. */
function answerTo(body: string): string {
  const calls = JSON.parse(body) as Call | Call[]
  const answer = ({ id, method }: Call): object => ({
    ...{ jsonrpc: '2.0', id },
    result: RESULTS[method.replace('Filecoin.', '')] ?? 'nothing',
  })
  return JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls))
}

type Respond = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function serve(t: Test, respond: Respond): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => respond(request, response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc/v1`, requests }
}

function clientOf(t: Test, url: string, token: string | null = null): LotusClient {
  const network: FilecoinNetwork = {
    ...{ networkId: 'testnet', rpcUrls: [url], token, startEpoch: 0, confidence: 0 },
    ...{ pollIntervalMs: 1000, readVoucherStore: false },
  }
  const options = { network: 'filecoin:testnet', report: () => undefined, timeoutMs: 2_000 }
  const client = createLotusClient(network, { ...options, maxConcurrent: 2, maxBatch: 10 })
  t.teardown(() => client.rpc.close())
  return client
}

function readHead(client: LotusClient): Promise<unknown> {
  return client.rpc.read('head', (endpoint) => endpoint.call('Filecoin.ChainHead', []), { attempts: 1 })
}

void t.test('a token goes with each request, beside what the body is', async (t) => {
  const { url, requests } = await serve(t, (_request, response, body) => response.end(answerTo(body)))
  await readHead(clientOf(t, url, 'a.jwt.token'))
  t.ok(requests.length >= 2, 'who it is, and the head')
  for (const { method, headers } of requests) {
    t.match([method, headers.authorization], ['POST', 'Bearer a.jwt.token'])
    t.match(headers, { 'content-type': /^application\/json/, accept: 'application/json' })
  }
})

void t.test('requests that begin in one turn are each their own', async (t) => {
  const { url } = await serve(t, (_request, response, body) => response.end(body))
  const post = glifPost(url, null)
  const options = () => ({
    ...{ timeoutMs: 2_000, controller: new AbortController() },
    room: new BodyRoom(1_000, pLimit(1)),
  })
  const bodies = ['[1]', '[2]', '[3]']
  const answers = await Promise.all(bodies.map((body) => post(body, options())))
  t.same(
    answers.map(({ body }) => body.toString()),
    bodies,
  )
})

void t.test('whom a URL names goes as a header, and not in the URL', async (t) => {
  const { url, requests } = await serve(t, (_request, response, body) => response.end(answerTo(body)))
  await readHead(clientOf(t, url.replace('//', '//me:secret@')))
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
  for (const { headers } of requests) t.equal(headers.authorization, basic)
})

void t.test('an answer that is packed, and not ASCII, is read', async (t) => {
  const { url } = await serve(t, (_request, response, body) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(answerTo(body))),
  )
  t.match(await readHead(clientOf(t, url)), { Height: 2 })
})

void t.test('a redirect is not followed: a token goes where it was configured to go', async (t) => {
  const other = await serve(t, (_request, response, body) => response.end(answerTo(body)))
  const { url } = await serve(t, (_request, response) =>
    response.writeHead(307, { location: other.url }).end(),
  )
  await t.rejects(readHead(clientOf(t, url, 'a.jwt.token')))
  t.equal(other.requests.length, 0)
})
