import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Fault, Reply, Request, Upstream } from './fault.ts'
import { carrySockets, type SocketFault } from './socket-proxy.ts'

export interface FaultProxy {
  /** Includes the path of the node's URL. */
  url: string
  wsUrl: string
  port: number
  /** HTTP requests, and how many of them got a false answer. */
  requests: number
  faults: number
  /** Called for each HTTP request. */
  fault: Fault
  /** Called for each message that the node sends on a socket. */
  socketFault: SocketFault
  /** Ends everything that hangs: waiting clients are cut off. */
  release(): void
  stop(): Promise<void>
}

export interface ProxyOptions {
  /** 0 or missing: a free port. */
  port?: number
  fault?: Fault
  /** Target of sockets; the node's HTTP URL when missing. */
  wsTarget?: string
}

/** Stands before a real node, over HTTP and WebSocket, and answers as its fault decides. */
export async function startFaultProxy(target: string, options: ProxyOptions = {}): Promise<FaultProxy> {
  const hanging = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    response.on('close', () => hanging.delete(response))
    answer(proxy, target, request, response, hanging).catch(() => response.destroy())
  })
  const proxy: FaultProxy = {
    ...{ url: '', wsUrl: '', port: 0, requests: 0, faults: 0 },
    fault: options.fault ?? (() => null),
    socketFault: () => null,
    release() {
      for (const response of hanging) response.destroy()
    },
    async stop() {
      sockets.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  const sockets = carrySockets(server, options.wsTarget ?? target.replace(/^http/, 'ws'), (text) =>
    proxy.socketFault(text),
  )
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as AddressInfo).port
  const { pathname } = new URL(target)
  const place = `127.0.0.1:${proxy.port}${pathname === '/' ? '' : pathname}`
  return Object.assign(proxy, { url: `http://${place}`, wsUrl: `ws://${place}` })
}

async function answer(
  proxy: FaultProxy,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  hanging: Set<ServerResponse>,
): Promise<void> {
  const body = await textOf(request)
  const parsed = JSON.parse(body) as Request | Request[]
  const requests = Array.isArray(parsed) ? parsed : [parsed]
  const node = speaker(target, request)
  let asked: Promise<string> | undefined
  const forward = (): Promise<string> => (asked ??= node.post(body))
  const truth = async (): Promise<Answer[]> => {
    const answers = JSON.parse(await forward()) as Answer | Answer[]
    return Array.isArray(answers) ? answers : [answers]
  }
  proxy.requests += 1
  const reply = await proxy.fault(requests, truth, Array.isArray(parsed), node)
  if (reply !== null) proxy.faults += 1
  if (reply === 'hang') {
    hanging.add(response)
    return
  }
  if (reply === 'drop') {
    response.destroy()
    return
  }
  if (reply !== null && 'write' in reply) {
    hanging.add(response)
    reply.write(response)
    return
  }
  if (reply !== null && 'afterMs' in reply) await sleep(reply.afterMs)
  const { status = 200, headers = {}, body: sent } = await written(reply, forward, Array.isArray(parsed))
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(sent)
}

async function written(
  reply: Exclude<Reply, 'hang' | 'drop' | { write: unknown }> | Answer[] | null,
  forward: () => Promise<string>,
  isBatch: boolean,
): Promise<Extract<Reply, { body: string }>> {
  if (reply === null || 'afterMs' in reply) return { body: await forward() }
  if (!Array.isArray(reply)) return reply
  return { body: JSON.stringify(isBatch ? reply : reply[0]) }
}

/** Sends requests to the node with the caller's own authorization. */
function speaker(
  target: string,
  request: IncomingMessage,
): Upstream & { post(body: string): Promise<string> } {
  const { authorization } = request.headers
  const headers = {
    'content-type': 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  const post = async (body: string): Promise<string> => {
    const response = await fetch(target, { method: 'POST', headers, body })
    return response.text()
  }
  return {
    post,
    async ask(method, ...params) {
      const text = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      return (JSON.parse(text) as Answer).result ?? null
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
