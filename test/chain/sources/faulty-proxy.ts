import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Request {
  id: number
  method: string
  params: unknown[]
}

export interface Answer {
  id: number
  result?: unknown
  error?: { code: number; message: string }
}

/** What a fault does with one HTTP request instead of forwarding it: an answer of its own, or none at all. */
export type Reply = { status?: number; headers?: Record<string, string>; body: string } | 'hang'

/** Gets the requests and the node's true answers (asked for on demand). Null: answer truly. */
export type Fault = (
  requests: Request[],
  truth: () => Promise<Answer[]>,
  isBatch: boolean,
) => Promise<Reply | Answer[] | null> | Reply | Answer[] | null

export interface Proxy {
  url: string
  requests: number
  faults: number
  fault: Fault
}

/** A node that stands before a real one and answers as its fault says. */
export async function startProxy(t: Test, target: string, fault: Fault = () => null): Promise<Proxy> {
  const proxy: Proxy = { url: '', requests: 0, faults: 0, fault }
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      answer(proxy, target, Buffer.concat(parts).toString('utf8'), response).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

async function answer(proxy: Proxy, target: string, body: string, response: ServerResponse): Promise<void> {
  const parsed = JSON.parse(body) as Request | Request[]
  const requests = Array.isArray(parsed) ? parsed : [parsed]
  let text: string | null = null
  const forward = async (): Promise<string> => {
    text ??= await (
      await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).text()
    return text
  }
  const truth = async (): Promise<Answer[]> => {
    const answers = JSON.parse(await forward()) as Answer | Answer[]
    return Array.isArray(answers) ? answers : [answers]
  }
  proxy.requests += 1
  const reply = await proxy.fault(requests, truth, Array.isArray(parsed))
  if (reply !== null) proxy.faults += 1
  if (reply === 'hang') return
  const {
    status = 200,
    headers = {},
    body: sent,
  } = reply === null
    ? { body: await forward() }
    : Array.isArray(reply)
      ? { body: JSON.stringify(Array.isArray(parsed) ? reply : reply[0]) }
      : reply
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(sent)
}
