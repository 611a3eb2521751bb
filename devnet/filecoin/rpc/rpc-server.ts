import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { permissionOf, type AccessRules } from './access.ts'
import { answerText } from './answer.ts'
import type { Node } from './method.ts'
import { serveSockets, type SocketServer } from './rpc-sockets.ts'

const PATH = '/rpc/v1'
const MAX_BODY_BYTES = 100 * 2 ** 20
/** Lotus's value. It keeps the connection open for a client in this process that is busy for seconds. */
const IDLE_MS = 120_000

export interface RpcServer {
  port: number
  close(): Promise<void>
}

/** Serves HTTP and WebSocket at the same path, on 127.0.0.1. */
export async function startRpcServer(node: Node, port: number, rules: AccessRules): Promise<RpcServer> {
  const server = createServer((request, response) => {
    serve(node, rules, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = IDLE_MS
  const sockets = serveSockets(server, PATH, node, rules)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the node listens on no port')
  return { port: address.port, close: () => close(server, sockets) }
}

async function serve(
  node: Node,
  rules: AccessRules,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [status, text] = await reply(node, rules, request)
  response.writeHead(status, { 'content-type': 'application/json' }).end(text === '' ? '' : `${text}\n`)
}

/** Returns HTTP status and body. */
async function reply(node: Node, rules: AccessRules, request: IncomingMessage): Promise<[number, string]> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname
  if (path !== PATH) return [404, '']
  const permission = permissionOf(request, rules)
  if (permission === null) return [401, '']
  if (request.method !== 'POST') return [405, '']
  const body = await bodyOf(request)
  if (body === undefined) return [413, '']
  const { status, text } = await answerText(node, permission, body)
  return [status, text]
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BODY_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

async function close(server: Server, sockets: SocketServer): Promise<void> {
  sockets.close()
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
