import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Answer, Fault, Request, Upstream } from '../../devnet/faults/fault.ts'

/** A node over HTTP that answers as another did before, except for its fault. Its chain must stand still. */
export interface RecordedNode {
  url: string
  fault: Fault
}

export async function recordNode(t: Pick<Test, 'teardown'>, target: string): Promise<RecordedNode> {
  const recorded = new Map<string, Promise<Answer>>()
  const ask = async (method: string, params: unknown[]): Promise<Answer> => {
    const key = JSON.stringify([method, params])
    const known = recorded.get(key)
    if (known !== undefined) return known
    const answer = post(target, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    recorded.set(key, answer)
    return answer
  }
  const upstream: Upstream = {
    ask: async (method, ...params) => (await ask(method, params)).result ?? null,
  }
  const server = createServer((request, response) => {
    const reply = async (): Promise<string> => {
      const parsed = JSON.parse(await textOf(request)) as Request | Request[]
      const requests = Array.isArray(parsed) ? parsed : [parsed]
      const truth = (): Promise<Answer[]> =>
        Promise.all(requests.map(async ({ id, method, params }) => ({ ...(await ask(method, params)), id })))
      const said = await node.fault(requests, truth, Array.isArray(parsed), upstream)
      const answers = Array.isArray(said) ? said : await truth()
      return JSON.stringify(Array.isArray(parsed) ? answers : answers[0])
    }
    reply().then(
      (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(body),
      () => response.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { pathname } = new URL(target)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname === '/' ? '' : pathname}`
  const node: RecordedNode = { url, fault: () => null }
  return node
}

async function post(target: string, body: string): Promise<Answer> {
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return (await response.json()) as Answer
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
